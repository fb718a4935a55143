// compiled in order to have the library
