//! Running a launch: workers, blocks and their turns, findings at the end.

pub(crate) mod ahead;
pub(crate) mod alive;
pub(crate) mod alone;
pub(crate) mod apart;
pub(crate) mod block;
pub(crate) mod compared;
pub(crate) mod explored;
pub(crate) mod faults;
pub(crate) mod findings;
pub(crate) mod launch;
pub(crate) mod native;
pub(crate) mod progress;
pub(crate) mod resident;
pub(crate) mod seeded;
pub(crate) mod session;
pub(crate) mod share;
pub(crate) mod slots;
pub(crate) mod worker;
