//! Things of the crate `cust` that this runtime cannot take over, or hand over.

/// Why something was not taken over from the crate `cust`, or not handed over.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CustError {
    /// A context that is not the primary one, or a thing made in such a context.
    #[error(
        "cannot take {what} over from cust: it does not belong to the primary context of the device\n\
         help: make it in the context of `device.to_cust()`, or of `cust::context::Context::new`; those of `cust::context::legacy` \
         are others"
    )]
    OtherContext {
        /// The thing, as in a sentence.
        what: &'static str,
    },

    /// A stream that does not wait for CUDA's legacy default stream.
    #[error(
        "cannot take the stream over from cust: it does not wait for CUDA's legacy default stream, through which plain copies go\n\
         help: make it with `StreamFlags::DEFAULT`"
    )]
    NonBlocking,

    /// A buffer whose memory something else holds as well.
    #[error(
        "cannot hand the buffer over to cust: a graph or a copy in the background uses its memory\n\
         help: drop the graph first, or wait for the copy"
    )]
    Shared,

    /// A buffer whose memory is not from `cuMemAlloc`.
    #[error(
        "cannot hand the buffer over to cust: its memory is of a pool, and cust would free it with `cuMemFree`\n\
         help: copy it to a buffer of `device.zeros`"
    )]
    NotAllocated,
}
