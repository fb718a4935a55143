"""Cases that are recorded with --wide only: near relatives of others, left out of the repository to keep it small."""

_TRAINING = {
    "quant_layer": "int4_groups int8_channels",
    "reduce": """all_float all_no_elements amax_two_dims amin_edges amin_last_keepdim amin_spatial amin_two_dims
        any_dims_keepdim argmax_all argmin_all argmin_int argmin_keepdim argmin_nan bce_with_logits cdist_p1_batched
        cross_entropy kl_div logsumexp_big max_dim_keepdim mean_channels mean_edges mean_two_dims min_dim norm_p_0
        norm_p_3 norm_p_dim norm_p_minus_inf normalize_zero_row prod_bool prod_dtype std_correction sum_f64
        sum_int_dtype_float sum_two_dims var_all""",
    "binary": """add_both_broadcast add_f64 add_rank5 add_same div_outer div_trunc_number fmax_edges fmin_edges fmod_int
        lt_int minimum_edges mul_broadcast_empty mul_edges mul_outer sub_edges sub_int sub_outer sub_row
        sub_zero_dim sub_alpha_int div_trunc_int""",
    "promotion": """add_i16_f16 div_f16_f32 eq_i32_i64 lt_bool_f32 mask_as_weight maximum_i64_f32 mul_f16_f32 pow_i32_i64
        remainder_i32_i64 sub_i32_i64 add_f32_f64 mul_bool_f32 bool_sum""",
    "activation": """elu_bf16 hardtanh_int leaky_relu_bf16 log_softmax_first mish_f16 prelu_rank2 softmax_2d softmax_bf16
        softmax_first softmax_zero_dim softplus_f16 special_softmax glu_first softmax_no_rows hardswish_f16""",
    "conv": """1d_computed_weight 1d_depthwise 1d_pointwise_no_bias 2d_batch_norm 2d_channels_last_weight
        2d_circular_padding 2d_f64 2d_nan 2d_no_bias 2d_pointwise 2d_replicate_padding 2d_same_dilated 2d_valid
        2d_wide_kernel transposed_1d_unbatched transposed_2d_depthwise transposed_2d_dilation
        transposed_2d_input_weight transposed_2d_unbatched 2d_stride_over_kernel 2d_relu6""",
    "pool": """adaptive_avg_1d_one adaptive_avg_2d_none adaptive_avg_2d_unbatched adaptive_avg_3d_not_dividing avg_2d_ceil
        avg_2d_f16 avg_2d_rectangle avg_3d_pad lp_2d_p3 lp_3d max_1d_unbatched max_2d_ceil_pad max_2d_f16
        max_2d_rectangle max_3d_pad avg_2d_channels_last""",
    "norm": """batch_1d_rank3 batch_2d_no_affine group_each group_one group_rank2 instance_1d_unbatched instance_3d
        layer_all_dims layer_by_hand layer_computed_weight layer_f64 layer_no_rows rms_two_dims batch_2d_f16 rms_eps""",
    "view": """adjoint diagonal_offset expand_minus_one f16_permute flatten_all flatten_scalar int_views none_index
        permute_identity permute_negative permute_rank6 select_negative slice_step_three slice_two_dims t_1d
        unsqueeze_middle unsqueeze_scalar view_minus_one view_same_shape unfold_dim0 ellipsis_last""",
    "recurrent": """gru_no_bias gru_one_step gru_two_layers gru_unbatched lstm_cell_loop lstm_one_step lstm_projection
        lstm_two_layers rnn_batch_first rnn_bidirectional rnn_given_state rnn_no_bias rnn_one_step rnn_two_layers
        rnn_unbatched gru_last_output lstm_bidirectional gru_bidirectional""",
    "resample": """area bicubic_align bilinear_channels_last bilinear_fraction_recompute bilinear_to_one grid_3d
        grid_bicubic_reflection linear_1d_align nearest_1d_size nearest_2d_down nearest_2d_u8 spatial_transformer
        upsample_module bicubic_antialias grid_nearest_zeros bilinear_down""",
    "matmul": """addmm_column_bias bmm_f64 chain kron matmul_1d_3d matmul_2d_2d matmul_3d_1d matmul_5d_4d matmul_one_row
        matrix_power multi_dot vdot matmul_nan""",
    "factory": """arange_dtype full_bool full_inf full_like_dtype hann_window linspace_int linspace_one logspace new_tensor
        sinusoid tensor_literal zeros_no_elements complex_parts""",
    "in_place": "add__scalar",
    "unary": """abs_u8 digamma erf_f64 erfinv exp_f64 exp_of_bool isinf_f16 isnan_int lgamma log1p_of_int log_bf16
        neg_int8_wraps reciprocal_bf16 reciprocal_of_int round_half_even round_int round_negative_decimals
        rsqrt_of_int sgn_int sin_f16 softsign_by_hand square_int tanh_f16 trunc_int zero_dim""",
    "rearrange": """flip_int im2col_padding_stride pixel_shuffle_3d repeat_more_dims roll_more_than_size roll_windows
        tril_diagonal triu_diagonal permute_nchw_window""",
    "convert": """bfloat16_math bool_f32 f32_f64 f64_f32 i64_i32 int_method lift_fresh_copy to_device_dtype u8_f32 i8_i16""",
    "program": """f64_network i16_input layer_called_twice many_inputs no_work output_chain_names output_input_and_result
        output_list output_none_first output_parameter_only print_free_loop rank5_input same_subexpressions
        sliced_weight weight_as_operand weight_used_twice transposed_weight f64_chain diamond""",
    "dynamic": """argmax attention_batch attention_batch_and_length attention_cross avg_pool1d cat_twice channels_last_conv
        conv2d_height cumsum depthwise_batch_norm einsum encoder_layer expand_batch eye f16 flatten_with_dynamic
        flip gather gru_batch index_select interpolate_batch lstm_batch masked_fill max_pool_batch mul_outer
        new_zeros ones_like pad_to_bound permute repeat_batch slice_last slice_step softmax_rows sort
        transpose_contiguous unsqueeze_squeeze var where zeros_filled linear_rank3 mlp roll causal_mask images""",
    "state": """before_and_after copy masked_fill not_persistent reset_to_constant through_view batch_norm_running""",
    "sym": "add_size arange_offset full_of_size item_output size_difference size_product_view size_square",
    "scatter": """as_strided_scatter index_copy_in_place one_hot_float put reduce_exclude_self reduce_prod value_int""",
    "attention": """bf16 bool_row_mask broadcast_batch by_hand_bias causal_shorter_keys decoder_layer dropout_zero encoder_layer
        float_mask_4d float_mask_scale multihead_key_padding multihead_mask_bias_kv multihead_unbatched rank2
        masked_row_float linear_attention constant_float_mask""",
    "linear": "input_weight_rank3 f64 one_output transposed_parameter nan_input",
    "embedding": "bag_max f16 zero_dim_index",
    "view_write": "chunk diagonal negative_slice squeezed two_views swap",
    "split": "split_first_only unpacking",
    "join": "cat_one cat_negative_dim cat_all_empty",
    "pad": """constant_bool constant_crop constant_inf constant_nothing circular_3d replicate_wide reflect_unbatched""",
    "blend": "heaviside lerp_f16 nextafter masked_fill_broadcast_self where_int_scalars where_u8",
    "scalar": """add_float_f32 pow_i64 true_pow_i64 add_true_i64 remainder_negative_i64 negative_remainder_f32 eq_bool""",
    "compare": "equal_nan le_int_broadcast lt_int_scalar ge_int_scalar",
    "bitwise": "bitwise_and_mixed bitwise_xor_mixed bitwise_not_u8",
    "sort": "sort_int topk_all topk_one argsort_descending topk_int",
    "einsum": "elementwise implicit inner_sum trace transpose broadcast_one",
    "control": "cond_nested",
    "fft": "rfft2 rfft_norm stft",
    "clamp": "int u8 f16",
    "index": "tensor_i32 tensor_last tensor_of_int tensor_two_broadcast gather_int index_select_i32",
    "index_put": "int scalar_value",
    "scan": "cumsum_dtype cumsum_zero_dim diff_twice diff_bool",
    "pow": "square_as_mul tensor_scalar_positive f16",
    "logical": "logical_or_float_int",
}

# The full decomposition of these is long, or made of operators that others show.
_DECOMPOSED = {
    "reduce": """cdist cosine_similarity count_nonzero cross_entropy mse_loss normalize pdist quantile std_dim std_mean
        var_dim all_dim""",
    "attention": """bf16 bool_key_padding by_hand_mask causal_longer_keys constant_causal_mask constant_float_mask encoder_layer
        float_mask_2d gqa_causal masked_row_float multihead_key_padding multihead_sequence_first multihead_weights
        rank3 scale""",
    "recurrent": """gru_batch_first gru_bidirectional lstm_batch_first lstm_bidirectional lstm_last_output rnn_batch_first
        rnn_bidirectional rnn_plain rnn_cell""",
    "dynamic": """attention_batch_and_length attention_causal causal_bias causal_mask global_pool group_norm heads layer_norm
        linear_rank3 matmul transpose_contiguous positions""",
    "resample": "affine_grid bicubic linear_1d nearest_3d trilinear nearest_exact_2d bilinear_antialias",
    "conv": """1d_same_even 1d_stride_pad_dilation 1d_unbatched 2d_batch_norm 2d_hardswish 2d_input_weight 2d_relu6 2d_same
        2d_unbatched 3d transposed_1d transposed_3d transposed_2d_batch_norm weight_norm""",
    "linear": "bilinear input_weight_rank3 rank1 rank4 batch_norm",
    "norm": """batch_1d batch_2d_no_affine group_no_affine instance_1d instance_2d_running layer_by_hand layer_no_affine
        layer_no_bias rms_eps local_response layer_channels_first""",
    "pool": """adaptive_avg_1d adaptive_avg_2d_unbatched adaptive_avg_3d lp_1d max_2d_ceil max_2d_pad_stride
        max_2d_unbatched""",
    "factory": """causal_mask_by_compare empty_filled ones ones_like zeros zeros_like sinusoid new_full new_ones linspace""",
    "matmul": "dot matmul_2d_3d matmul_4d_4d matmul_constant matmul_transposed tensordot outer",
    "rearrange": """col2im im2col repeat_interleave_flat triu roll_negative_two_dims pixel_unshuffle channel_shuffle
        permute_nchw_window""",
    "activation": """dropout_of_zero glu hardshrink prelu_rank2 prelu_rank3 softmax_dtype softmin softshrink swiglu relu6
        prelu_one selu""",
    "in_place": "iadd_view addcmul_",
    "pad": "circular_2d constant_negative",
    "view": "diag_embed pixel_like_rank6 transpose",
    "scatter": "index_add index_fill one_hot_float",
    "compare": "isclose",
    "blend": "masked_fill_tensor where_both_scalars addcdiv",
    "einsum": "mixed_order",
    "index": "pooled_token relative_position_bias",
    "join": "stack_last",
    "unary": "deg2rad_forms isfinite_forms square_forms frac_forms",
    "fft": "stft",
    "view_write": "transposed",
}

WIDE = {f"{family}/{name}" for family, names in _TRAINING.items() for name in names.split()}
WIDE_CORE = {f"{family}/{name}_core" for family, names in _DECOMPOSED.items() for name in names.split()}


def is_wide(family, case_name, folder_name):
    return f"{family}/{case_name}" in WIDE or f"{family}/{folder_name}" in WIDE_CORE
