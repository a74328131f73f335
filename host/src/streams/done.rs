//! Waiting with `.await`: futures for streams, events and copies, for any executor.
//!
//! A future is woken by a callback of the stream. There is no runtime here and no polling of the driver.

use crate::base::error::Result;
use crate::buffers::pinned::PinnedBuffer;
use crate::streams::copies::PendingCopy;
use crate::streams::event::Event;
use crate::streams::stream::Stream;
use parking_lot::Mutex;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The moment at which some work of a device is done: what [`Stream::done`] and [`Event::done`] give to `.await`.
///
/// Dropping the future does not affect the work. Polling a finished future again returns the same outcome.
#[must_use = "a future does nothing unless awaited"]
pub struct Done {
    state: Arc<Mutex<State>>,
}

enum State {
    /// The task to wake, once one has polled.
    Waiting(Option<Waker>),
    Over(Result<()>),
}

impl Done {
    /// After the work that is on the stream now.
    fn of(stream: &Stream) -> Done {
        let state = Arc::new(Mutex::new(State::Waiting(None)));
        let told = state.clone();
        let added = stream.add_callback(move |outcome| {
            let before = std::mem::replace(&mut *told.lock(), State::Over(outcome));
            if let State::Waiting(Some(waker)) = before {
                waker.wake();
            }
        });
        if let Err(error) = added {
            *state.lock() = State::Over(Err(error));
        }
        Done { state }
    }
}

impl Future for Done {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        match &mut *self.state.lock() {
            State::Waiting(waker) => {
                waker.get_or_insert_with(|| context.waker().clone()).clone_from(context.waker());
                Poll::Pending
            }
            State::Over(outcome) => Poll::Ready(outcome.clone()),
        }
    }
}

impl fmt::Debug for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let over = matches!(*self.state.lock(), State::Over(_));
        f.debug_struct("Done").field("over", &over).finish()
    }
}

impl Stream {
    /// Completes when all work is done that is on the stream now: [`Stream::synchronize`] for `async` functions. A fault or
    /// a panic of a kernel is its error.
    ///
    /// # Examples
    /// ```
    /// # use rumba::{LaunchConfig, test_kernels::{PTX, scale}};
    /// # fn main() -> rumba::Result<()> { pollster::block_on(run()) }
    /// # async fn run() -> rumba::Result<()> {
    /// let device = rumba::Device::new()?;
    /// let (module, stream) = (device.load(PTX)?, device.stream()?);
    /// let mut values = device.buffer_from(&[1.0_f32; 1000])?;
    /// module.launch(LaunchConfig::for_each(1000).stream(&stream), scale(2.0, &mut values))?;
    /// stream.done().await?;
    /// let host = values.copy_to_pinned(device.pinned(1000)?, &stream)?.await?;
    /// assert_eq!(host[..], [2.0; 1000]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn done(&self) -> Done {
        Done::of(self)
    }
}

impl Event {
    /// Completes when the event has happened: [`Event::synchronize`] for `async` functions.
    pub fn done(&self) -> Done {
        // An event does not know its stream; a stream that waits for nothing else does as well, and ends with the callback.
        let waiting = Stream::new(self.context().clone(), None).and_then(|stream| {
            stream.wait(self)?;
            Ok(stream)
        });
        match waiting {
            Ok(stream) => Done::of(&stream),
            Err(error) => Done { state: Arc::new(Mutex::new(State::Over(Err(error)))) },
        }
    }
}

impl IntoFuture for &Event {
    type Output = Result<()>;
    type IntoFuture = Done;

    fn into_future(self) -> Done {
        self.done()
    }
}

/// A copy that is awaited: gives the host memory back.
#[derive(Debug)]
#[must_use = "a future does nothing unless awaited"]
pub struct CopyDone<T> {
    /// None after the buffer was returned.
    copy: Option<PendingCopy<T>>,
    done: Done,
}

// Nothing in it is pinned.
impl<T> Unpin for CopyDone<T> {}

impl<T> Future for CopyDone<T> {
    type Output = Result<PinnedBuffer<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match Pin::new(&mut self.done).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            // Only a wait that went well says that the copy is over.
            Poll::Ready(Ok(())) => match self.copy.take() {
                Some(copy) => Poll::Ready(Ok(copy.over())),
                // Polled again after it was ready.
                None => Poll::Pending,
            },
        }
    }
}

impl<T> IntoFuture for PendingCopy<T> {
    type Output = Result<PinnedBuffer<T>>;
    type IntoFuture = CopyDone<T>;

    fn into_future(self) -> CopyDone<T> {
        let done = self.stream().done();
        CopyDone { copy: Some(self), done }
    }
}
