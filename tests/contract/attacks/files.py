"""Information and files: what the machine, the trainer and other programs know."""

from __future__ import annotations

import sys

from .attack import blocked, denied, gives

ATTACKS = (
    denied("read passwd", "return open('/etc/passwd').read()", "'/etc/passwd'"),
    denied("read shadow", "return os.open('/etc/shadow', os.O_RDONLY)", "'/etc/shadow'"),
    denied("climb out", "return open('../../../../etc/hostname').read()", "'../../../../etc/hostname'"),
    denied("read own source", "return open('/jail/zygote.py').read()", "'/jail/zygote.py'"),
    denied("read environment", "return open('/proc/self/environ').read()", "'/proc/self/environ'"),
    denied("read own memory", "return open('/proc/self/mem', 'rb').read(1)", "'/proc/self/mem'"),
    denied("read parent memory", "return open('/proc/1/mem', 'rb').read(1)", "'/proc/1/mem'"),
    denied("read the kernel log", "return open('/dev/kmsg', 'rb').read(1)", "'/dev/kmsg'"),
    denied("list root", "return os.listdir('/')", "'/'"),
    denied("list by a descriptor", "return os.listdir(3)"),
    denied("walk", "return list(os.scandir('/root'))", "'/root'"),
    denied("stat", "return os.stat('/root').st_mode", "'/root'"),
    denied("stat a descriptor", "return os.fstat(3).st_ino"),
    denied("read a link", "return os.readlink('/proc/self/exe')", "'/proc/self/exe'"),
    denied("working folder", "return os.getcwd()"),
    denied("machine name", "return os.uname().nodename"),
    denied("load of the machine", "return open('/proc/loadavg').read()", "'/proc/loadavg'"),
    denied("create", "return os.open('/nowhere/x', os.O_CREAT | os.O_WRONLY)", "'/nowhere/x'"),
    denied("write in cwd", "open('nowhere/x', 'w').write('1')", "'nowhere/x'"),
    denied("write shared memory", "open('/dev/shm/x', 'wb')", "'/dev/shm/x'"),
    denied("nameless file", "return os.open('/tmp', os.O_TMPFILE | os.O_RDWR)", "'/tmp'"),
    denied("mkdir", "os.mkdir('/nowhere/x')", "'/nowhere/x'"),
    denied("fifo", "os.mkfifo('/nowhere/x')"),
    denied("symlink", "os.symlink('/etc', '/nowhere/x')", "'/etc' -> '/nowhere/x'"),
    denied("hard link", "os.link('/etc/passwd', '/nowhere/x')", "'/etc/passwd' -> '/nowhere/x'"),
    denied("rename", "os.rename('/nowhere/y', '/nowhere/x')", "'/nowhere/y' -> '/nowhere/x'"),
    denied("unlink", "os.unlink('/nowhere/x')", "'/nowhere/x'"),
    denied("chmod", "os.chmod('/nowhere', 0o777)", "'/nowhere'"),
    denied("truncate", "os.truncate('/nowhere/x', 0)", "'/nowhere/x'"),
    denied("extended attribute", "os.setxattr('/nowhere', 'user.x', b'1')", "'/nowhere'"),
    denied("set times", "os.utime('/nowhere', (0, 0))", "" if sys.version_info < (3, 13) else "'/nowhere'"),
    denied("chdir", "os.chdir('/')", "'/'"),
    denied("memfd", "return os.memfd_create('x')"),
    denied("duplicate a descriptor", "return os.dup(3)"),
    denied("seek a shared descriptor", "return os.lseek(1, 7, 0)"),
    blocked("flags of a shared descriptor", 72, 1, 4, 0o4000),
    denied("copy between descriptors", "return os.sendfile(1, 0, 0, 1)"),
    denied("map a file", "mmap.mmap(0, 4096)"),
    blocked("openat2", 437, 0, 0, 0, 0, errno=38),
    blocked("open by handle", 304, 0, 0, 0),
    blocked("flock", 73, 0, 2),
    blocked("record lock", 72, 0, 6, 0),
    blocked("mount", 165, 0, 0, 0, 0, 0),
    blocked("open_tree", 428, -100, 0, 1),
    blocked("move_mount", 429, 0, 0, 0, 0, 0),
    blocked("pivot_root", 155, 0, 0),
    blocked("chroot", 161, 0),
    blocked("mknod", 133, 0, 0o020666, 0x103),
    blocked("inotify_init1", 294, 0),
    blocked("fanotify_init", 300, 0, 0),
    blocked("mincore", 27, 0, 4096, 0),
    blocked("cachestat", 451, 0, 0, 0, 0),
    gives(
        "inherited descriptors",
        "open_ones = []\n"
        "for number in range(4, 200):\n"
        "    try:\n        os.read(number, 1); open_ones.append(number)\n"
        "    except OSError as error:\n        error.errno == 9 or open_ones.append(number)\n"
        "return open_ones",
        "[]",
    ),
    gives(
        "standard descriptors",
        "return [os.read(0, 9), os.write(1, b'x' * 100000), os.write(2, b'x')]",
        "[b'', 100000, 1]",
    ),
    gives(
        "host environment",
        "getenv = LIBC.getenv\ngetenv.restype = ctypes.c_char_p\n"
        "return ['SPADELAB_CANARY' in os.environ, *map(getenv, (b'SPADELAB_CANARY', b'HOME', b'PATH'))]",
        "[False, None, None, None]",
    ),
    gives("arguments of the zygote", "return [sys.argv, sys.orig_argv]", "[[], []]"),
    gives(
        "secrets in inherited memory",
        # The words are put together only at the end, so that the search does not find itself.
        "mods['gc'].unfreeze()\n"
        "refer = mods['gc'].get_referents\n"
        "near = refer(*mods['gc'].get_objects())\n"
        "texts = [str(o) for o in (*near, *refer(*near)) if type(o) in (str, bytes)]\n"
        "words = (('spadelab', 'canary', 'secret'), ('perf', 'counter'))\n"
        "return [any('_'.join(word) in text for text in texts) for word in words]",
        "[False, True]",
    ),
    gives(
        "modules of the trainer",
        "ours = ('spadelab', 'torch', 'pydantic', 'msgspec')\n"
        "return [name for name in mods if name.partition('.')[0] in ours]",
        "[]",
    ),
)
