# One place for every flag that could change a bit. Nothing here may ever hold a fast-math flag (scripts/check-source).
# -ffp-contract=off: a*b+c stays two operations; -frounding-math is not needed, the rounding mode is checked at start.
add_compile_options(-ffp-contract=off -fno-math-errno -fno-trapping-math -fno-strict-aliasing)
# With -std=c17 gcc for s390x evaluates FP32 expressions in FP64, unless told otherwise; include/lockstep/num.h refuses that.
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
  add_compile_options(-fexcess-precision=fast)
endif()
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter)
add_compile_definitions(_GNU_SOURCE _FILE_OFFSET_BITS=64)
if(CMAKE_SIZEOF_VOID_P LESS 8)
  message(FATAL_ERROR "Lockstep needs a 64-bit machine: sizes of tensors and files are 64-bit")
endif()

set(LOCKSTEP_SANITIZE "" CACHE STRING "comma-separated sanitizers, e.g. address,undefined")
if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()

# Files named *_avx2.c, *_avx512.c and *_shani.c are compiled for that instruction set and run only where the processor
# has it.
set(LOCKSTEP_FLAGS_avx2 -mavx2 -mfma)
set(LOCKSTEP_FLAGS_avx512 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx2 -mfma -mprefer-vector-width=512)
set(LOCKSTEP_FLAGS_shani -msha -msse4.1 -mssse3)
