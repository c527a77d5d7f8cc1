#pragma once
#include <limits>
inline constexpr float CUDART_INF_F = std::numeric_limits<float>::infinity(),
                       CUDART_NAN_F = std::numeric_limits<float>::quiet_NaN();
inline constexpr double CUDART_INF = std::numeric_limits<double>::infinity(),
                        CUDART_NAN = std::numeric_limits<double>::quiet_NaN();
inline constexpr float CUDART_PI_F = 3.14159265f, CUDART_SQRT_HALF_F = 0.70710678f, CUDART_L2E_F = 1.44269504f,
                       CUDART_LN2_F = 0.69314718f;
inline constexpr double CUDART_PI = 3.1415926535897931;
