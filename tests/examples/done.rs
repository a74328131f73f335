// Ends a program with the error of an example, whatever the example returns: a part of the programs that run examples.

/// The return type of an example's `main`.
trait Done {
    fn done(self);
}

impl Done for () {
    fn done(self) {}
}

impl<E: std::fmt::Display> Done for Result<(), E> {
    fn done(self) {
        self.unwrap_or_else(|error| panic!("{error}"));
    }
}

fn done(outcome: impl Done) {
    outcome.done();
}
