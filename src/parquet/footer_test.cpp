#include "parquet/footer.h"
