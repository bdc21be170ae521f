#ifndef TP_VERSION_H
#define TP_VERSION_H

#define TP_VERSION "0.1.0"
#define TP_RELEASED "November 22, 2026"

#endif
