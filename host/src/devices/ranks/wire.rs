//! Connections between ranks: every other rank has one to rank 0, by TCP.
//!
//! A rank that is not 0 sends a [`Call`] and its bytes. Rank 0 compares all calls with its own, and answers with a status: 0 and bytes, or
//! the error that has ended the group. So each rank learns which rank is lost, late or at another operation.

use super::place::{self, LONGEST_TIMEOUT, Place};
use crate::base::error::RankError;
use crate::devices::nccl::Element;
use bytemuck::{bytes_of, bytes_of_mut, cast_slice, cast_slice_mut};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, ToSocketAddrs};
use std::ops::Range;
use std::time::{Duration, Instant};

/// How a rank's first words begin: a name, the version of what is said here, and the order of bytes.
const MAGIC: u64 = u64::from_ne_bytes(*b"rumba\0\0\x02");

/// How long the first words of a connection may take. Rank 0 reads them from all new connections at once.
const HELLO: Duration = Duration::from_secs(2);

/// Connections without first words that rank 0 keeps besides one for each rank. The oldest one of too many is closed.
const SILENT: usize = 256;

/// Between two attempts to find rank 0, or a rank that comes.
const PAUSE: Duration = Duration::from_millis(10);

/// How long rank 0 keeps connections after an error, so that the others read what it was.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long an operation goes on when a rank's connection has ended: that rank may have done its part before.
const GRACE: Duration = Duration::from_secs(1);

/// No error has as many words.
const LONGEST: u64 = 1 << 16;

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Join,
    Offer,
    Connect,
    Barrier,
    AllReduce,
    Broadcast,
    AllGather,
    ReduceScatter,
}

const OPERATIONS: [(Operation, &str); 8] = [
    (Operation::Join, "the meeting of all ranks"),
    (Operation::Offer, "the choice of a transport"),
    (Operation::Connect, "the meeting of all ranks by NCCL"),
    (Operation::Barrier, "a barrier"),
    (Operation::AllReduce, "all_reduce"),
    (Operation::Broadcast, "broadcast"),
    (Operation::AllGather, "all_gather"),
    (Operation::ReduceScatter, "reduce_scatter"),
];

impl Operation {
    pub(super) fn name(self) -> &'static str {
        OPERATIONS[self as usize].1
    }
}

/// An operation and its arguments, which are the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) operation: Operation,
    /// NCCL's number of the elements' type, and how many elements each rank has.
    pub(super) element: i32,
    pub(super) length: usize,
    /// The operation's own: how elements are combined, or who sends them.
    pub(super) argument: u32,
}

/// The words that a rank sends for a call.
pub(super) type Words = [u64; 3];

impl Call {
    pub(super) fn of<T: Element>(operation: Operation, length: usize, argument: u32) -> Call {
        Call { operation, element: T::TYPE, length, argument }
    }

    /// `number` counts the operations of a group.
    fn words(self, number: u64) -> Words {
        let kind = self.operation as u64 | u64::from(self.element as u8) << 8 | u64::from(self.argument) << 32;
        [kind, self.length as u64, number]
    }
}

/// Words of a call in a sentence.
fn described([kind, length, number]: Words) -> String {
    let name = OPERATIONS.get((kind & 0xff) as usize).map_or("another", |(_, name)| name);
    let (element, argument) = (kind >> 8 & 0xff, kind >> 32);
    format!("{name} (operation {number}, {length} elements of type {element}, argument {argument})")
}

/// Why bytes did not come, or go.
enum Broken {
    Late,
    Lost,
}

/// All bytes or none, until some time.
fn until(
    stream: &TcpStream,
    end: Instant,
    mut step: impl FnMut(&TcpStream) -> std::io::Result<bool>,
) -> Result<(), Broken> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Broken::Late);
        }
        let limits = stream.set_read_timeout(Some(left)).and_then(|()| stream.set_write_timeout(Some(left)));
        match limits.and_then(|()| step(stream)) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => match error.kind() {
                ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => {}
                _ => return Err(Broken::Lost),
            },
        }
    }
}

fn read(stream: &TcpStream, bytes: &mut [u8], end: Instant) -> Result<(), Broken> {
    let mut done = 0;
    if bytes.is_empty() {
        return Ok(());
    }
    until(stream, end, |mut stream| {
        match stream.read(&mut bytes[done..])? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => done += count,
        }
        Ok(done == bytes.len())
    })
}

fn write(stream: &TcpStream, bytes: &[u8], end: Instant) -> Result<(), Broken> {
    let mut done = 0;
    if bytes.is_empty() {
        return Ok(());
    }
    until(stream, end, |mut stream| {
        done += stream.write(&bytes[done..])?;
        Ok(done == bytes.len())
    })
}

/// The data ready to be read from a connection.
enum Peeked {
    Nothing,
    Bytes,
    /// The connection is closed, or lost.
    End,
}

fn peek(link: &TcpStream) -> Peeked {
    let peeked = link.set_nonblocking(true).and_then(|()| link.peek(&mut [0]));
    // Later reads block, with timeouts.
    let blocks = link.set_nonblocking(false);
    match (peeked, blocks) {
        (Ok(1..), Ok(())) => Peeked::Bytes,
        (Err(error), Ok(())) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Peeked::Nothing
        }
        _ => Peeked::End,
    }
}

/// Listens at the port of an address: on all interfaces, since a machine may resolve its own name to another address
/// than other machines do (Debian to 127.0.1.1). A loopback address is bound exactly.
fn listen(address: &str) -> std::io::Result<TcpListener> {
    let (host, port) = address.rsplit_once(':').ok_or(ErrorKind::InvalidInput)?;
    let port: u16 = port.parse().map_err(|_| ErrorKind::InvalidInput)?;
    let literal = host.trim_matches(['[', ']']).parse::<IpAddr>();
    if host == "localhost" || literal.is_ok_and(|address| address.is_loopback()) {
        return TcpListener::bind(address);
    }
    // The name is resolved so that a name without addresses is an error here too.
    address.to_socket_addrs()?;
    // An IPv6 socket accepts IPv4 connections as well; a system may have IPv4 only.
    let first = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port));
    first.or_else(|error| match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::PermissionDenied => Err(error),
        _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)),
    })
}

/// Connects to the first address of a name that answers.
fn connect(address: &str, timeout: Duration) -> std::io::Result<TcpStream> {
    let mut last = ErrorKind::NotFound.into();
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(link) => return Ok(link),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A connection to rank 0 whose first words have not all come.
struct NewLink {
    stream: TcpStream,
    since: Instant,
    words: Words,
    /// Bytes of the words that have come.
    read: usize,
}

/// The meaning of the first words of a connection.
enum Hello {
    /// They have not come yet.
    Waits,
    Rank {
        rank: usize,
        size: usize,
    },
    /// The peer is no rank, or sends nothing.
    Other,
}

impl NewLink {
    fn new(stream: TcpStream) -> NewLink {
        NewLink { stream, since: Instant::now(), words: [0; 3], read: 0 }
    }

    /// Reads what has come, without waiting.
    fn hello(&mut self) -> Hello {
        let bytes = bytes_of_mut(&mut self.words);
        let come = self.stream.set_nonblocking(true).and_then(|()| {
            let come = self.stream.read(&mut bytes[self.read..]);
            // Later reads block, with timeouts.
            self.stream.set_nonblocking(false).and(come)
        });
        match come {
            Ok(0) => return Hello::Other,
            Ok(count) => self.read += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return Hello::Other,
        }
        match self.words {
            [MAGIC, rank, size] if self.read == size_of::<Words>() => {
                Hello::Rank { rank: rank as usize, size: size as usize }
            }
            _ if self.read == size_of::<Words>() || self.since.elapsed() >= HELLO => Hello::Other,
            _ => Hello::Waits,
        }
    }
}

/// The connections of a rank.
pub(super) struct Wire {
    place: Place,
    /// At rank 0 those to the ranks from 1 on; elsewhere the one to rank 0.
    links: Vec<TcpStream>,
    /// How many operations there were, and when the last one began.
    number: u64,
    begun: Instant,
    /// A rank whose connection ended during the operation, and when that was seen.
    gone: Option<(usize, Instant)>,
    /// The error that has ended the group.
    ended: Option<RankError>,
}

impl Wire {
    /// Waits until all ranks have joined.
    pub(super) fn join(place: &Place) -> Result<Wire, RankError> {
        let (rank, size) = (place.rank, place.size);
        place::check(rank, size)?;
        let mut wire = Wire {
            place: Place {
                // Moments in which a rank gives up are counted from now, with twice the timeout.
                timeout: place.timeout.min(LONGEST_TIMEOUT),
                ..place.clone()
            },
            links: Vec::new(),
            number: 0,
            begun: Instant::now(),
            gone: None,
            ended: None,
        };
        if size > 1 {
            let end = Instant::now() + wire.place.timeout;
            if rank == 0 { wire.listen(end) } else { wire.find(end) }?;
        }
        Ok(wire)
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Rank 0: accepts connections until each rank has one. Connections from other programs are closed.
    fn listen(&mut self, end: Instant) -> Result<(), RankError> {
        let Place { address, size, timeout, .. } = self.place.clone();
        let listener = listen(&address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let listener = listener.map_err(|error| RankError::Address { address, cause: error.to_string() })?;
        let mut found: Vec<Option<TcpStream>> = (1..size).map(|_| None).collect();
        let mut new: VecDeque<NewLink> = VecDeque::new();
        let error = loop {
            if found.iter().all(Option::is_some) {
                break None;
            }
            if Instant::now() >= end {
                let absent = (1..size).zip(&found).filter(|(_, link)| link.is_none());
                break Some(RankError::Absent { ranks: absent.map(|(rank, _)| rank).collect(), size, after: timeout });
            }
            let before = new.len();
            new.extend(std::iter::from_fn(|| Some(NewLink::new(listener.accept().ok()?.0))).take(SILENT));
            let mut is_idle = new.len() == before;
            while new.len() > size + SILENT {
                new.pop_front();
            }
            for mut link in std::mem::take(&mut new) {
                match link.hello() {
                    Hello::Waits => new.push_back(link),
                    Hello::Other => is_idle = false,
                    Hello::Rank { rank, size: theirs } => {
                        is_idle = false;
                        if theirs != size || rank == 0 || rank >= size {
                            tell(&link.stream, &RankError::NoSuchRank { rank, size });
                        } else if found[rank - 1].is_some() {
                            tell(&link.stream, &RankError::Twice { rank });
                        } else {
                            let _ = link.stream.set_nodelay(true);
                            found[rank - 1] = Some(link.stream);
                        }
                    }
                }
            }
            if is_idle {
                std::thread::sleep(PAUSE);
            }
        };
        self.links = found.into_iter().flatten().collect();
        match error {
            Some(error) => Err(self.end(error)),
            None => self.deliver(Operation::Join, &mut []),
        }
    }

    /// Other ranks: connect to rank 0, and wait for its message that all ranks have joined.
    fn find(&mut self, end: Instant) -> Result<(), RankError> {
        let Place { rank, size, address, timeout, .. } = self.place.clone();
        loop {
            match connect(&address, timeout.min(HELLO)) {
                Ok(link) => {
                    let _ = link.set_nodelay(true);
                    let hello: Words = [MAGIC, rank as u64, size as u64];
                    // If this message is lost, the answer never comes, which `deliver` reports.
                    let _ = write(&link, bytes_of(&hello), end);
                    self.links = vec![link];
                    return self.deliver(Operation::Join, &mut []);
                }
                Err(error) if Instant::now() >= end => {
                    return Err(RankError::Unreachable { rank, address, after: timeout, cause: error.to_string() });
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Operations are counted from here, as the program counts them.
    pub(super) fn count_from_here(&mut self) {
        self.number = 0;
    }

    /// Begins an operation.
    pub(super) fn begin(&mut self) -> Result<(), RankError> {
        self.number += 1;
        self.begun = Instant::now();
        self.gone = None;
        self.ended.clone().map_or(Ok(()), Err)
    }

    /// Sends a call and this rank's bytes to rank 0.
    pub(super) fn send(&mut self, call: Call, bytes: &[u8]) -> Result<(), RankError> {
        let end = Instant::now() + 2 * self.place.timeout;
        let (words, link) = (call.words(self.number), &self.links[0]);
        let sent = write(link, bytes_of(&words), end).and_then(|()| write(link, bytes, end));
        if sent.is_ok() {
            return Ok(());
        }
        // Rank 0 may have said why before it went.
        self.status(call.operation, Instant::now() + LAST_WORDS)?;
        let error = self.error(Broken::Lost, 0, call.operation);
        Err(self.end(error))
    }

    /// At rank 0: the bytes of another rank, which comes to the same call.
    pub(super) fn receive(&mut self, call: Call, rank: usize, bytes: &mut [u8]) -> Result<(), RankError> {
        let end = self.begun + self.place.timeout;
        let (ours, mut theirs) = (call.words(self.number), Words::default());
        let link = &self.links[rank - 1];
        let error = match read(link, bytes_of_mut(&mut theirs), end) {
            Ok(()) if theirs != ours => {
                RankError::Disagreement { rank, theirs: described(theirs), ours: described(ours) }
            }
            Ok(()) => match read(link, bytes, end) {
                Ok(()) => return Ok(()),
                Err(broken) => self.error(broken, rank, call.operation),
            },
            Err(broken) => self.error(broken, rank, call.operation),
        };
        Err(self.end(error))
    }

    /// The bytes of rank 0 for all other ranks.
    pub(super) fn deliver(&mut self, operation: Operation, bytes: &mut [u8]) -> Result<(), RankError> {
        let length = bytes.len();
        self.deliver_each(operation, bytes, |_| 0..length)
    }

    /// The bytes of rank 0, of which each rank gets its part, at the front.
    pub(super) fn deliver_parts(
        &mut self,
        operation: Operation,
        bytes: &mut [u8],
        length: usize,
    ) -> Result<(), RankError> {
        let own = if self.place.rank == 0 { bytes } else { &mut bytes[..length] };
        self.deliver_each(operation, own, |rank| rank * length..(rank + 1) * length)
    }

    fn deliver_each(
        &mut self,
        operation: Operation,
        bytes: &mut [u8],
        part: impl Fn(usize) -> Range<usize>,
    ) -> Result<(), RankError> {
        let timeout = self.place.timeout;
        if self.place.rank == 0 {
            let end = Instant::now() + timeout;
            let broken = self.links.iter().zip(1..).find_map(|(link, rank)| {
                let sent = write(link, bytes_of(&0_u64), end).and_then(|()| write(link, &bytes[part(rank)], end));
                sent.err().map(|broken| (broken, rank))
            });
            return match broken {
                None => Ok(()),
                Some((broken, rank)) => {
                    let error = self.error(broken, rank, operation);
                    Err(self.end(error))
                }
            };
        }
        // Rank 0 may itself have waited for another as long as it does.
        let end = Instant::now() + 2 * timeout;
        self.status(operation, end)?;
        read(&self.links[0], bytes, end).map_err(|broken| {
            let error = self.error(broken, 0, operation);
            self.end(error)
        })
    }

    /// Reads the answer of rank 0: bytes follow, or an error.
    fn status(&mut self, operation: Operation, end: Instant) -> Result<(), RankError> {
        let mut count = 0_u64;
        let mut words = Vec::new();
        let link = &self.links[0];
        let answer = read(link, bytes_of_mut(&mut count), end).and_then(|()| {
            words.resize(count.min(LONGEST) as usize, 0);
            read(link, cast_slice_mut(&mut words), end)
        });
        let error = match answer {
            Ok(()) if count == 0 => return Ok(()),
            Ok(()) => decoded(&words, operation, self.place.size, 2 * self.place.timeout),
            Err(broken) => self.error(broken, 0, operation),
        };
        Err(self.end(error))
    }

    /// Sends the calls of this rank to rank 0, the first of which is the one after `number`.
    pub(super) fn tell_calls(&mut self, calls: &[Call], number: u64) -> Result<(), RankError> {
        let (Some(link), Some(last)) = (self.links.first(), calls.last()) else { return Ok(()) };
        if self.place.rank == 0 {
            return Ok(());
        }
        let end = Instant::now() + 2 * self.place.timeout;
        let words: Vec<Words> = calls.iter().zip(number + 1..).map(|(call, number)| call.words(number)).collect();
        if write(link, cast_slice(&words), end).is_ok() {
            return Ok(());
        }
        // Rank 0 may have said why before it went.
        self.status(last.operation, Instant::now() + LAST_WORDS)?;
        let error = self.error(Broken::Lost, 0, last.operation);
        Err(self.end(error))
    }

    /// At rank 0: the next call of another rank, if it has come.
    pub(super) fn come(&self, rank: usize) -> Option<Words> {
        let (link, mut words) = (&self.links[rank - 1], Words::default());
        let peeked = link.set_nonblocking(true).and_then(|()| link.peek(bytes_of_mut(&mut words)));
        // Later reads block, with timeouts.
        link.set_nonblocking(false).ok()?;
        if peeked.ok()? < size_of::<Words>() {
            return None;
        }
        read(link, bytes_of_mut(&mut words), Instant::now() + LAST_WORDS).ok()?;
        Some(words)
    }

    /// At rank 0: compares the call of another rank with its own.
    pub(super) fn compare(&mut self, rank: usize, theirs: Words, ours: Call, number: u64) -> Result<(), RankError> {
        let ours = ours.words(number);
        if theirs == ours {
            return Ok(());
        }
        Err(self.end(RankError::Disagreement { rank, theirs: described(theirs), ours: described(ours) }))
    }

    /// At other ranks: whether rank 0 lets them go on. The error of rank 0, if it has ended the group.
    pub(super) fn heard(&mut self, operation: Operation) -> Result<bool, RankError> {
        // At rank 0, bytes are calls of another rank.
        let link = self.links.first().filter(|_| self.place.rank > 0);
        match link.map(peek) {
            Some(Peeked::Bytes) => self.status(operation, Instant::now() + LAST_WORDS).map(|()| true),
            _ => Ok(false),
        }
    }

    /// [`watch`](Self::watch) counts from here.
    pub(super) fn begin_watch(&mut self, now: Instant) {
        self.begun = now;
        self.gone = None;
    }

    /// Comes to a call together with all other ranks, without any bytes.
    pub(super) fn agree(&mut self, call: Call) -> Result<(), RankError> {
        self.begin()?;
        if self.place.rank > 0 {
            self.send(call, &[])?;
        } else {
            (1..self.place.size).try_for_each(|rank| self.receive(call, rank, &mut []))?;
        }
        self.deliver(call.operation, &mut [])
    }

    /// Called while an operation of all ranks runs elsewhere, after [`heard`](Self::heard): returns an error if a rank is lost, or the
    /// operation takes too long.
    ///
    /// `now` is the time by which the caller has looked for late ranks: with a later one, an operation that waits for a late rank could
    /// be told as one that does not end. A rank that has done its part may end before this rank has, so the end of a connection is
    /// tolerated a little longer.
    pub(super) fn watch(&mut self, operation: Operation, now: Instant) -> Result<(), RankError> {
        if let Some(error) = &self.ended {
            return Err(error.clone());
        }
        for index in 0..self.links.len() {
            match peek(&self.links[index]) {
                // At rank 0, bytes are the next operation of a rank that is ahead. At other ranks `heard` reads them.
                Peeked::Nothing | Peeked::Bytes => {}
                Peeked::End => {
                    let lost = if self.place.rank == 0 { index + 1 } else { 0 };
                    self.gone.get_or_insert((lost, now));
                }
            }
        }
        let waited = if self.place.rank == 0 { 1 } else { 2 } * self.place.timeout;
        let error = match self.gone {
            Some((rank, since)) if now - since >= GRACE => self.error(Broken::Lost, rank, operation),
            _ if now - self.begun >= waited => RankError::Stalled { operation: operation.name(), after: waited },
            _ => return Ok(()),
        };
        Err(self.end(error))
    }

    /// Ends the group because this rank cannot go on with an operation: by what the others say of its cause, if they do.
    pub(super) fn fail(&mut self, operation: Operation, cause: &dyn std::error::Error) -> RankError {
        let begin = Instant::now();
        loop {
            if let Err(error) = self.heard(operation).and_then(|_| self.watch(operation, Instant::now())) {
                return error;
            }
            if let Some((rank, _)) = self.gone {
                let error = self.error(Broken::Lost, rank, operation);
                return self.end(error);
            }
            if self.links.is_empty() || begin.elapsed() >= 2 * GRACE {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        self.end(RankError::Failed { rank: self.place.rank, operation: operation.name(), cause: cause.to_string() })
    }

    fn error(&self, broken: Broken, rank: usize, operation: Operation) -> RankError {
        let (operation, timeout) = (operation.name(), self.place.timeout);
        match broken {
            Broken::Lost => RankError::Lost { rank, operation },
            Broken::Late => RankError::Late { rank, operation, after: if rank == 0 { 2 * timeout } else { timeout } },
        }
    }

    /// Ends the group on all ranks that can be told.
    pub(super) fn end(&mut self, error: RankError) -> RankError {
        let links = std::mem::take(&mut self.links);
        if self.place.rank == 0 {
            links.iter().for_each(|link| tell(link, &error));
            // Reads pending data: closing with unread data would discard the last words (RFC 1122, section 4.2.2.13).
            let end = Instant::now() + LAST_WORDS.min(self.place.timeout);
            let mut rest = [0; 4096];
            for link in &links {
                while read(link, &mut rest[..1], end).is_ok() {}
            }
        }
        self.ended.get_or_insert(error).clone()
    }
}

/// Sends an error, as far as it goes, and nothing after it.
fn tell(link: &TcpStream, error: &RankError) {
    let words = encoded(error);
    let end = Instant::now() + LAST_WORDS;
    let _ = write(link, bytes_of(&(words.len() as u64)), end).and_then(|()| write(link, cast_slice(&words), end));
    let _ = link.shutdown(std::net::Shutdown::Write);
}

const LOST: u64 = 1;
const LATE: u64 = 2;
const ABSENT: u64 = 3;
const TWICE: u64 = 4;
const NO_SUCH: u64 = 5;
const DISAGREEMENT: u64 = 6;
const STALLED: u64 = 7;
const FAILED: u64 = 8;

/// Encodes an error of the group as words. The operation is left out: all ranks know the current operation.
fn encoded(error: &RankError) -> Vec<u64> {
    let millis = |time: &Duration| time.as_millis() as u64;
    match error {
        RankError::Lost { rank, .. } => vec![LOST, *rank as u64],
        RankError::Late { rank, after, .. } => vec![LATE, *rank as u64, millis(after)],
        RankError::Absent { ranks, after, .. } => {
            let mut words = vec![ABSENT, millis(after)];
            words.extend(ranks.iter().map(|&rank| rank as u64));
            words
        }
        RankError::Twice { rank } => vec![TWICE, *rank as u64],
        RankError::NoSuchRank { rank, size } => vec![NO_SUCH, *rank as u64, *size as u64],
        RankError::Disagreement { rank, theirs, ours } => {
            let mut words = vec![DISAGREEMENT, *rank as u64];
            for text in [theirs, ours] {
                words.push(text.len() as u64);
                words.extend(text.bytes().map(u64::from));
            }
            words
        }
        RankError::Stalled { after, .. } => vec![STALLED, millis(after)],
        RankError::Failed { rank, cause, .. } => {
            let mut words = vec![FAILED, *rank as u64];
            words.extend(cause.bytes().map(u64::from).take(LONGEST as usize / 2));
            words
        }
        // Errors of one rank alone.
        RankError::Environment { .. }
        | RankError::TooManyRanks { .. }
        | RankError::Address { .. }
        | RankError::Unreachable { .. }
        | RankError::NoPeerMemory { .. }
        | RankError::NoNccl { .. } => vec![LOST, 0],
    }
}

/// Decodes the words of [`encoded`]. Invalid words mean the end of rank 0.
fn decoded(words: &[u64], operation: Operation, size: usize, waited: Duration) -> RankError {
    let operation = operation.name();
    let time = |millis: u64| Duration::from_millis(millis).min(waited);
    match *words {
        [LOST, rank] => RankError::Lost { rank: rank as usize, operation },
        [LATE, rank, millis] => RankError::Late { rank: rank as usize, operation, after: time(millis) },
        [ABSENT, millis, ref ranks @ ..] => {
            RankError::Absent { ranks: ranks.iter().map(|&rank| rank as usize).collect(), size, after: time(millis) }
        }
        [TWICE, rank] => RankError::Twice { rank: rank as usize },
        [NO_SUCH, rank, size] => RankError::NoSuchRank { rank: rank as usize, size: size as usize },
        [STALLED, millis] => RankError::Stalled { operation, after: time(millis) },
        [FAILED, rank, ref text @ ..] => {
            let bytes: Vec<u8> = text.iter().map(|&byte| byte as u8).collect();
            RankError::Failed { rank: rank as usize, operation, cause: String::from_utf8_lossy(&bytes).into_owned() }
        }
        [DISAGREEMENT, rank, ref texts @ ..] => {
            let mut rest = texts.iter();
            let mut text = || {
                let length = rest.next().map_or(0, |&length| length as usize);
                let bytes: Vec<u8> = rest.by_ref().take(length).map(|&byte| byte as u8).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            };
            let theirs = text();
            RankError::Disagreement { rank: rank as usize, theirs, ours: text() }
        }
        _ => RankError::Lost { rank: 0, operation },
    }
}
