#include "duck/copy_batch_writer.h"
