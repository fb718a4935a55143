"""Times one model on one engine: a child of bench/run, which interleaves the engines.

Usage: engines.py ENGINE MODEL THREADS INPUT.npy...   then on standard input, one line a request:
  "run N"  runs N times and prints the times in ms, one line, space separated
  "out"    prints the largest absolute difference of output 0 from the file named next on the line
  "quit"
The first line printed is the engine's version. Engines: onnxruntime, openvino, litert.
"""
import sys
import time

import numpy as np


def onnxruntime_engine(model, threads, inputs):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {port.name: value for port, value in zip(session.get_inputs(), inputs)}
    return ort.__version__, lambda: session.run(None, feed)


def openvino_engine(model, threads, inputs):
    import openvino as ov

    core = ov.Core()
    config = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(model, "CPU", config)
    request = compiled.create_infer_request()
    feed = dict(enumerate(inputs))

    def run():
        request.infer(feed)
        return [request.get_output_tensor(i).data for i in range(len(compiled.outputs))]

    return ov.__version__.split("-")[0], run


def litert_engine(model, threads, inputs):
    import ai_edge_litert
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=model, num_threads=threads)
    interpreter.allocate_tensors()
    ports = interpreter.get_input_details()
    outputs = interpreter.get_output_details()

    def run():
        for port, value in zip(ports, inputs):
            interpreter.set_tensor(port["index"], value)
        interpreter.invoke()
        return [interpreter.get_tensor(port["index"]) for port in outputs]

    return ai_edge_litert.__version__, run


ENGINES = {"onnxruntime": onnxruntime_engine, "openvino": openvino_engine, "litert": litert_engine}


def main():
    engine, model, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    inputs = [np.load(path) for path in sys.argv[4:]]
    version, run = ENGINES[engine](model, threads, inputs)
    for _ in range(3):
        outputs = run()
    print(version, flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "run":
            times = []
            for _ in range(int(words[1])):
                start = time.perf_counter()
                run()
                times.append((time.perf_counter() - start) * 1e3)
            print(" ".join(f"{t:.4f}" for t in times), flush=True)
        elif words[0] == "out":
            expected = np.load(words[1])
            print(float(np.abs(np.asarray(outputs[0]).reshape(expected.shape) - expected).max()), flush=True)
        else:
            return


if __name__ == "__main__":
    main()
