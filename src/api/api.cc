// placeholder until the api is in
