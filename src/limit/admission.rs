//! The proof that a bucket was asked and admitted. Only `limit/` can make one, so a use case that demands it
//! cannot be reached around the limiter.

use std::marker::PhantomData;

/// Proof that the bucket `B` admitted this request.
#[derive(Debug)]
pub struct Admission<B>(PhantomData<B>);

impl<B> Admission<B> {
    /// The proof, for the extractor that has just asked.
    pub(in crate::limit) const fn granted() -> Self {
        Self(PhantomData)
    }
}
