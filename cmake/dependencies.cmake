# All from Debian 12; ARCHITECTURE.md says why each was chosen. scripts/deps installs them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(Boost 1.81 REQUIRED)  # headers only
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(simdjson REQUIRED IMPORTED_TARGET simdjson)
find_package(OpenSSL 3.0 REQUIRED)
pkg_check_modules(nghttp2 REQUIRED IMPORTED_TARGET libnghttp2)
