"""Network, and every descriptor through which programs could talk."""

from __future__ import annotations

from .attack import blocked, denied, raises

ATTACKS = (
    *(
        denied(f"socket {family}", f"return socket.socket(socket.{family}, socket.SOCK_STREAM).fileno()")
        for family in ("AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_VSOCK", "AF_PACKET")
    ),
    denied("raw socket", "return socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).fileno()"),
    denied("connect", "global s\ns = socket.socket(1, 1, 0, fileno=3)\ns.connect('/x')"),
    denied("listen", "global s\ns = socket.socket(1, 1, 0, fileno=3)\ns.listen()"),
    denied("socket pair", "return socket.socketpair()[0].fileno()"),
    denied("pipe", "return os.pipe()"),
    denied("pseudo terminal", "return os.openpty()"),
    denied("event descriptor", "return os.eventfd(0)"),
    denied(
        "send a descriptor",
        "global s\ns = socket.socket(1, 1, 0, fileno=3)\ns.sendmsg([b'x'], [(1, 1, bytes(4))])",
    ),
    denied("receive a descriptor", "global s\ns = socket.socket(1, 1, 0, fileno=3)\ns.recvmsg(9, 99)"),
    denied("send past the runner", "global s\ns = socket.socket(1, 1, 0, fileno=3)\ns.send(b'x')"),
    denied("name of the peer", "global s\ns = socket.socket(1, 1, 0, fileno=3)\nreturn s.getpeername()"),
    denied(
        "credentials of the peer",
        "global s\ns = socket.socket(1, 1, 0, fileno=3)\nreturn s.getsockopt(1, 17)",
    ),
    denied("shut the channel down", "global s\ns = socket.socket(1, 1, 0, fileno=3)\ns.shutdown(2)"),
    raises(
        "name look-up",
        "return socket.gethostbyname(b'example.org')",
        "gaierror",
        "[Errno -2] Name or service not known",
    ),
    blocked("io_uring_setup", 425, 8, 0),
    blocked("io_uring_enter", 426, 0, 1, 0, 0, 0),
    blocked("epoll_create1", 291, 0),
    blocked("signalfd", 282, -1, 0, 8),
    blocked("timerfd", 283, 0, 0),
    blocked("bind", 49, 3, 0, 0),
    blocked("connect", 42, 3, 0, 0),
    blocked("sendmmsg", 307, 3, 0, 1, 0),
    blocked("splice", 275, 3, 0, 1, 0, 1, 0),
    blocked("tee", 276, 3, 1, 1, 0),
    blocked("vmsplice", 278, 1, 0, 0, 0),
)
