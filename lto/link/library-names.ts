/**
 * Names of a program's definitions that the libraries it runs with are sure to mention, whichever they are; and, where
 * those libraries are not known, the names that their standards give them.
 *
 * Sources: ISO C, 7.24.3; ISO C++, [replacement.functions], with the Itanium C++ ABI's names; glibc's manual, "Replacing
 * malloc", "Hooks for Malloc", "Argp", "Error Messages"; the ABI's runtime libraries and start-up files; POSIX.1-2008 with XSI
 * (which has ISO C's) for the list.
 */
import type { Mention } from "./input.js";

/** Allocation is one family: who replaces a part replaces it for libraries, too. */
const allocation =
  "malloc free calloc realloc reallocarray aligned_alloc posix_memalign memalign valloc pvalloc cfree free_sized " +
  "free_aligned_sized malloc_usable_size malloc_trim malloc_stats malloc_info mallinfo mallinfo2 mallopt " +
  "__malloc_hook __free_hook __realloc_hook __memalign_hook __malloc_initialize_hook __after_morecore_hook __morecore";

/** What C libraries, start-up files and compilers' runtime libraries look for. */
const hooks =
  "_init _fini _start __libc_start_main __libc_csu_init __libc_csu_fini __gmon_start__ __dso_handle data_start " +
  "__data_start _dl_relocate_static_pie __gcc_personality_v0 __gxx_personality_v0 atexit at_quick_exit environ _environ " +
  "__environ signgam matherr argp_program_version argp_program_version_hook argp_program_bug_address " +
  "__dynamic_cast __once_proxy argp_err_exit_status error_print_progname obstack_alloc_failed_handler obstack_exit_failure";

const replaceable = new Set(`${allocation} ${hooks}`.split(" "));

/** Families: C++'s allocation and deallocation functions in all forms, its runtime, unwinding, transactional memory. */
const families = /^(?:_Z(?:nw|na|dl|da)|__cxa_|_Unwind_|__(?:de)?register_frame|_ITM_)/;

/** Whether libraries call or replace a definition of this name. */
export const isReplaceable = (name: string): boolean => replaceable.has(name) || families.test(name);

/** Of namespaces std, __gnu_cxx and __cxxabiv1. */
const standardCxx = /^_Z(?:T[ISTV])?(?:N[KVr]*)?(?:S[tabsiod]|9__gnu_cxx|10__cxxabiv1)/;

let standardNames: ReadonlySet<string> | null = null;

/** What a C and a C++ library of the standards mention, where none could be asked. */
export function standardMention(name: string): Mention {
  standardNames ??= new Set(posix.join(" ").split(" "));
  return standardNames.has(name) || standardCxx.test(name) ? "defined" : null;
}

/** Functions and variables; what code generation may call (runtime-symbols.ts) stays anyway. */
const posix = [
  "a64l abs accept access acosh acoshf acoshl aio_cancel aio_error aio_fsync aio_read aio_return aio_suspend",
  "aio_write alarm aligned_alloc alphasort asctime asctime_r asinh asinhf asinhl atanh atanhf atanhl atof atoi atol",
  "atoll bind bsearch btowc c16rtomb c32rtomb cabs cabsf cabsl cacos cacosf cacosh cacoshf cacoshl cacosl call_once",
  "calloc carg cargf cargl casin casinf casinh casinhf casinhl casinl catan catanf catanh catanhf catanhl catanl",
  "catclose catgets catopen cbrt cbrtf cbrtl ccos ccosf ccosh ccoshf ccoshl ccosl cexp cexpf cexpl cfgetispeed",
  "cfgetospeed cfsetispeed cfsetospeed chdir chmod chown cimag cimagf cimagl clearerr clock clock_getcpuclockid",
  "clock_getres clock_gettime clock_nanosleep clock_settime clog clogf clogl close closedir closelog cnd_broadcast",
  "cnd_destroy cnd_init cnd_signal cnd_timedwait cnd_wait confstr conj conjf conjl connect cpow cpowf cpowl cproj",
  "cprojf cprojl creal crealf creall creat csin csinf csinh csinhf csinhl csinl csqrt csqrtf csqrtl ctan ctanf",
  "ctanh ctanhf ctanhl ctanl ctermid ctime ctime_r daylight difftime dirfd dirname div dlclose dlerror dlopen dlsym",
  "dprintf drand48 dup dup2 duplocale endgrent endhostent endnetent endprotoent endpwent endservent endutxent",
  "erand48 erf erfc erfcf erfcl erff erfl execl execle execlp execv execve execvp exit expm1 expm1f expm1l",
  "faccessat fchdir fchmod fchmodat fchown fchownat fclose fcntl fdatasync fdopen fdopendir feclearexcept fegetenv",
  "fegetexceptflag fegetround feholdexcept feof feraiseexcept ferror fesetenv fesetexceptflag fesetround",
  "fetestexcept feupdateenv fexecve fflush ffs fgetc fgetpos fgets fgetwc fgetws fileno flockfile fmemopen fmtmsg",
  "fnmatch fopen fork fpathconf fprintf fputc fputs fputwc fputws fread free freeaddrinfo freelocale freopen fscanf",
  "fseek fseeko fsetpos fstat fstatat fstatvfs fsync ftell ftello ftok ftruncate ftrylockfile ftw funlockfile",
  "futimens fwide fwprintf fwrite fwscanf gai_strerror getaddrinfo getc getc_unlocked getchar getchar_unlocked",
  "getcwd getdate getdate_err getdelim getegid getenv geteuid getgid getgrent getgrgid getgrgid_r getgrnam",
  "getgrnam_r getgroups gethostbyaddr gethostbyname gethostent gethostid gethostname getitimer getline getlogin",
  "getlogin_r getnameinfo getnetbyaddr getnetbyname getnetent getopt getpeername getpgid getpgrp getpid getppid",
  "getpriority getprotobyname getprotobynumber getprotoent getpwent getpwnam getpwnam_r getpwuid getpwuid_r",
  "getrlimit getrusage getservbyname getservbyport getservent getsid getsockname getsockopt getsubopt gettimeofday",
  "getuid getutxent getutxid getutxline getwc getwchar glob globfree gmtime gmtime_r grantpt hcreate hdestroy",
  "hsearch htonl htons hypot hypotf hypotl iconv iconv_close iconv_open if_freenameindex if_indextoname",
  "if_nameindex if_nametoindex ilogb ilogbf ilogbl imaxabs imaxdiv in6addr_any in6addr_loopback inet_addr",
  "inet_lnaof inet_makeaddr inet_netof inet_network inet_ntoa inet_ntop inet_pton initstate insque isalnum",
  "isalnum_l isalpha isalpha_l isascii isatty isblank isblank_l iscntrl iscntrl_l isdigit isdigit_l isgraph",
  "isgraph_l islower islower_l isprint isprint_l ispunct ispunct_l isspace isspace_l isupper isupper_l iswalnum",
  "iswalnum_l iswalpha iswalpha_l iswblank iswblank_l iswcntrl iswcntrl_l iswctype iswctype_l iswdigit iswdigit_l",
  "iswgraph iswgraph_l iswlower iswlower_l iswprint iswprint_l iswpunct iswpunct_l iswspace iswspace_l iswupper",
  "iswupper_l iswxdigit iswxdigit_l isxdigit isxdigit_l j0 j1 jn jrand48 kill killpg l64a labs lchown lcong48 ldiv",
  "lfind lgamma lgammaf lgammal link linkat lio_listio listen llabs lldiv localeconv localtime localtime_r lockf",
  "log1p log1pf log1pl logb logbf logbl longjmp lrand48 lsearch lseek lstat malloc mblen mbrlen mbrtoc16 mbrtoc32",
  "mbrtowc mbsinit mbsnrtowcs mbsrtowcs mbstowcs mbtowc memccpy memchr mkdir mkdirat mkdtemp mkfifo mkfifoat mknod",
  "mknodat mkstemp mktime mlock mlockall mmap mprotect mq_close mq_getattr mq_notify mq_open mq_receive mq_send",
  "mq_setattr mq_timedreceive mq_timedsend mq_unlink mrand48 msgctl msgget msgrcv msgsnd msync mtx_destroy mtx_init",
  "mtx_lock mtx_timedlock mtx_trylock mtx_unlock munlock munlockall munmap nan nanf nanl nanosleep newlocale",
  "nextafter nextafterf nextafterl nexttoward nexttowardf nexttowardl nftw nice nl_langinfo nl_langinfo_l nrand48",
  "ntohl ntohs open open_memstream open_wmemstream openat opendir openlog optarg opterr optind optopt pathconf",
  "pause pclose perror pipe poll popen posix_fadvise posix_fallocate posix_madvise posix_memalign posix_openpt",
  "posix_spawn posix_spawn_file_actions_addclose posix_spawn_file_actions_adddup2 posix_spawn_file_actions_addopen",
  "posix_spawn_file_actions_destroy posix_spawn_file_actions_init posix_spawnattr_destroy posix_spawnattr_getflags",
  "posix_spawnattr_getpgroup posix_spawnattr_getschedparam posix_spawnattr_getschedpolicy",
  "posix_spawnattr_getsigdefault posix_spawnattr_getsigmask posix_spawnattr_init posix_spawnattr_setflags",
  "posix_spawnattr_setpgroup posix_spawnattr_setschedparam posix_spawnattr_setschedpolicy",
  "posix_spawnattr_setsigdefault posix_spawnattr_setsigmask posix_spawnp pread printf pselect psiginfo psignal",
  "pthread_atfork pthread_attr_destroy pthread_attr_getdetachstate pthread_attr_getguardsize",
  "pthread_attr_getinheritsched pthread_attr_getschedparam pthread_attr_getschedpolicy pthread_attr_getscope",
  "pthread_attr_getstack pthread_attr_getstackaddr pthread_attr_getstacksize pthread_attr_init",
  "pthread_attr_setdetachstate pthread_attr_setguardsize pthread_attr_setinheritsched pthread_attr_setschedparam",
  "pthread_attr_setschedpolicy pthread_attr_setscope pthread_attr_setstack pthread_attr_setstackaddr",
  "pthread_attr_setstacksize pthread_barrier_destroy pthread_barrier_init pthread_barrier_wait",
  "pthread_barrierattr_destroy pthread_barrierattr_getpshared pthread_barrierattr_init",
  "pthread_barrierattr_setpshared pthread_cancel pthread_cond_broadcast pthread_cond_destroy pthread_cond_init",
  "pthread_cond_signal pthread_cond_timedwait pthread_cond_wait pthread_condattr_destroy pthread_condattr_getclock",
  "pthread_condattr_getpshared pthread_condattr_init pthread_condattr_setclock pthread_condattr_setpshared",
  "pthread_create pthread_detach pthread_equal pthread_exit pthread_getconcurrency pthread_getcpuclockid",
  "pthread_getschedparam pthread_getspecific pthread_join pthread_key_create pthread_key_delete pthread_kill",
  "pthread_mutex_consistent pthread_mutex_destroy pthread_mutex_getprioceiling pthread_mutex_init",
  "pthread_mutex_lock pthread_mutex_setprioceiling pthread_mutex_timedlock pthread_mutex_trylock",
  "pthread_mutex_unlock pthread_mutexattr_destroy pthread_mutexattr_getprioceiling pthread_mutexattr_getprotocol",
  "pthread_mutexattr_getpshared pthread_mutexattr_getrobust pthread_mutexattr_gettype pthread_mutexattr_init",
  "pthread_mutexattr_setprioceiling pthread_mutexattr_setprotocol pthread_mutexattr_setpshared",
  "pthread_mutexattr_setrobust pthread_mutexattr_settype pthread_once pthread_rwlock_destroy pthread_rwlock_init",
  "pthread_rwlock_rdlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_tryrdlock",
  "pthread_rwlock_trywrlock pthread_rwlock_unlock pthread_rwlock_wrlock pthread_rwlockattr_destroy",
  "pthread_rwlockattr_getkind_np pthread_rwlockattr_getpshared pthread_rwlockattr_init",
  "pthread_rwlockattr_setkind_np pthread_rwlockattr_setpshared pthread_self pthread_setcancelstate",
  "pthread_setcanceltype pthread_setconcurrency pthread_setschedparam pthread_setschedprio pthread_setspecific",
  "pthread_sigmask pthread_spin_destroy pthread_spin_init pthread_spin_lock pthread_spin_trylock",
  "pthread_spin_unlock pthread_testcancel ptsname putc putc_unlocked putchar putchar_unlocked putenv puts",
  "pututxline putwc putwchar pwrite qsort quick_exit raise rand rand_r random re_syntax_options read readdir",
  "readdir_r readlink readlinkat readv realloc realpath recv recvfrom recvmsg regcomp regerror regexec regfree",
  "remainder remainderf remainderl remove remque remquo remquof remquol rename renameat rewind rewinddir rmdir",
  "scalbln scalblnf scalblnl scalbn scalbnf scalbnl scandir scanf sched_get_priority_max sched_get_priority_min",
  "sched_getparam sched_getscheduler sched_rr_get_interval sched_setparam sched_setscheduler sched_yield seed48",
  "seekdir select sem_close sem_destroy sem_getvalue sem_init sem_open sem_post sem_timedwait sem_trywait",
  "sem_unlink sem_wait semctl semget semop send sendmsg sendto setbuf setegid setenv seteuid setgid setgrent",
  "sethostent setitimer setjmp setlocale setlogmask setnetent setpgid setpgrp setpriority setprotoent setpwent",
  "setregid setreuid setrlimit setservent setsid setsockopt setstate setuid setutxent setvbuf shm_open shm_unlink",
  "shmat shmctl shmdt shmget shutdown sigaction sigaddset sigaltstack sigdelset sigemptyset sigfillset sighold",
  "sigignore siginterrupt sigismember siglongjmp signal signgam sigpause sigpending sigprocmask sigqueue sigrelse",
  "sigset sigsuspend sigtimedwait sigwait sigwaitinfo sleep snprintf sockatmark socket socketpair sprintf srand",
  "srand48 srandom sscanf stat statvfs stderr stdin stdout stpcpy stpncpy strcasecmp strcasecmp_l strcat strchr",
  "strcmp strcoll strcoll_l strcpy strcspn strdup strerror strerror_l strerror_r strfmon strfmon_l strftime",
  "strftime_l strncasecmp strncasecmp_l strncat strncmp strncpy strndup strnlen strpbrk strptime strrchr strsignal",
  "strspn strstr strtod strtof strtoimax strtok strtok_r strtol strtold strtoll strtoul strtoull strtoumax strxfrm",
  "strxfrm_l swab swprintf swscanf symlink symlinkat sync sysconf syslog system tcdrain tcflow tcflush tcgetattr",
  "tcgetpgrp tcgetsid tcsendbreak tcsetattr tcsetpgrp tdelete telldir tempnam tfind tgamma tgammaf tgammal",
  "thrd_create thrd_current thrd_detach thrd_equal thrd_exit thrd_join thrd_sleep thrd_yield time timer_create",
  "timer_delete timer_getoverrun timer_gettime timer_settime times timespec_get timezone tmpfile tmpnam toascii",
  "tolower tolower_l toupper toupper_l towctrans towctrans_l towlower towlower_l towupper towupper_l truncate",
  "tsearch tss_create tss_delete tss_get tss_set ttyname ttyname_r twalk tzname tzset ulimit umask uname ungetc",
  "ungetwc unlink unlinkat unlockpt unsetenv uselocale utime utimensat utimes vdprintf vfprintf vfscanf vfwprintf",
  "vfwscanf vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf vwprintf vwscanf wait waitid waitpid",
  "wcpcpy wcpncpy wcrtomb wcscasecmp wcscasecmp_l wcscat wcschr wcscmp wcscoll wcscoll_l wcscpy wcscspn wcsdup",
  "wcsftime wcslen wcsncasecmp wcsncasecmp_l wcsncat wcsncmp wcsncpy wcsnlen wcsnrtombs wcspbrk wcsrchr wcsrtombs",
  "wcsspn wcsstr wcstod wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoul wcstoull wcstoumax wcswcs",
  "wcswidth wcsxfrm wcsxfrm_l wctob wctomb wctrans wctrans_l wctype wctype_l wcwidth wmemchr wmemcmp wmemcpy",
  "wmemmove wmemset wordexp wordfree wprintf write writev wscanf y0 y1 yn",
];
