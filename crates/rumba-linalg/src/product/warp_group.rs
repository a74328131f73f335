//! By warp groups, with `wgmma` on tiles that tensor copies bring: compute capability 9.0.
