// The standard headers that nearly every file includes, for a compiler to read once (build.mk): that
// reading takes half of the time of most compilations. Nothing of the lab's own: a header that changes would have to be
// read again, and a file must include what it uses all the same, as the builds without this show (make sanitize, make
// build-gpu).
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>
