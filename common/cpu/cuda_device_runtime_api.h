#pragma once
#include "plain_cuda.h"
