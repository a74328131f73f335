//! By threads, each with its part of the sums in registers: any device, any type.
