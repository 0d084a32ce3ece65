//! The end of a connection that carried a WebSocket.
//!
//! The HTTP library cannot know that nothing follows a socket's last frame. It takes the request as unread and waits
//! for the client to end the connection, for as long as `client_disconnect_timeout` says. But a WebSocket client waits
//! for the server (RFC 6455, 7.1.1). So a socket has a second handle of its connection, and ends the server's side of it
//! behind the last frame. The library still reads what the client sends, so nothing is reset.

use std::any::Any;
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpRequest;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::Extensions;
use actix_web::web::Bytes;

/// The number by which the system knows a connection. A second handle of each connection would take too many files.
#[cfg(unix)]
struct ConnectionNumber(std::os::fd::RawFd);

/// Notes a new connection for [`second_handle`]. Call it for each connection.
#[cfg(unix)]
pub fn note_connection(connection: &dyn Any, data: &mut Extensions) {
    use std::os::fd::AsRawFd as _;

    if let Some(connection) = connection.downcast_ref::<actix_web::rt::net::TcpStream>() {
        data.insert(ConnectionNumber(connection.as_raw_fd()));
    }
}

/// Returns a second handle of the connection of a request. Call it only while the request is being answered.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the library lends its connections only before the first request")]
pub fn second_handle(request: &HttpRequest) -> Option<TcpStream> {
    use std::os::fd::BorrowedFd;

    let ConnectionNumber(number) = request.conn_data::<ConnectionNumber>()?;
    // SAFETY: the library drops a connection together with the request that it is answering, so the number is still that
    // of this connection.
    let connection = unsafe { BorrowedFd::borrow_raw(*number) };
    connection.try_clone_to_owned().ok().map(TcpStream::from)
}

/// Notes nothing: here a connection ends after the timeout.
#[cfg(not(unix))]
pub fn note_connection(_: &dyn Any, _: &mut Extensions) {}

/// Returns no handle.
#[cfg(not(unix))]
pub const fn second_handle(_: &HttpRequest) -> Option<TcpStream> {
    None
}

/// The body of a WebSocket. It ends the server's side of the connection after the last frame.
pub struct SocketBody {
    frames: BoxBody,
    connection: Option<TcpStream>,
    /// Whether all frames were passed on.
    is_over: bool,
}

impl SocketBody {
    /// Wraps the frames of a socket with the handle of its connection.
    pub const fn new(frames: BoxBody, connection: Option<TcpStream>) -> Self {
        Self { frames, connection, is_over: false }
    }
}

impl MessageBody for SocketBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.frames.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if !self.is_over {
            match self.frames.as_pin_mut().poll_next(cx) {
                Poll::Ready(None) if self.connection.is_some() => {
                    // The library writes the last frame before it asks again.
                    self.is_over = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                other => return other,
            }
        }
        if let Some(connection) = self.connection.take() {
            // It fails if the client has ended the connection already.
            let _ = connection.shutdown(Shutdown::Write);
        }
        Poll::Ready(None)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::os::fd::{AsFd as _, AsRawFd as _};
    use std::task::Waker;

    use actix_web::body::BodyStream;
    use actix_web::rt;
    use actix_web::test::TestRequest;
    use futures_util::stream;

    use super::*;

    /// The client sees the end of the connection while the library still holds it, and the last frame before.
    #[test]
    fn socket_body_at_its_end_ends_the_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        accepted.set_nonblocking(true).unwrap();
        rt::System::new().block_on(async {
            let held = rt::net::TcpStream::from_std(accepted).unwrap();
            let mut data = Extensions::new();
            note_connection(&held, &mut data);
            let request = TestRequest::default().to_http_request();
            assert!(second_handle(&request).is_none(), "it is no request of a connection");
            let ConnectionNumber(number) = data.get::<ConnectionNumber>().unwrap();
            assert_eq!(*number, held.as_raw_fd());
            let handle = held.as_fd().try_clone_to_owned().map(TcpStream::from).ok();
            let frames = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"bye"))]);
            let mut body = SocketBody::new(BoxBody::new(BodyStream::new(frames)), handle);
            let mut cx = Context::from_waker(Waker::noop());
            let mut poll = || Pin::new(&mut body).poll_next(&mut cx);
            assert!(matches!(poll(), Poll::Ready(Some(Ok(bytes))) if bytes == "bye"));
            assert!(poll().is_pending(), "the frame is written first");
            held.writable().await.unwrap();
            assert_eq!(held.try_write(b"bye").unwrap(), 3);
            assert!(matches!(poll(), Poll::Ready(None)));
            let mut heard = String::new();
            client.read_to_string(&mut heard).unwrap();
            assert_eq!(heard, "bye");
        });
    }
}
