/* Seconds since a moment that stays the same in a process: differences of two readings count. */
#ifndef TP_CLOCK_H
#define TP_CLOCK_H

double tp_wall_seconds(void);
/* Of processor time: of the calling thread, of all threads. */
double tp_thread_seconds(void);
double tp_process_seconds(void);

#endif
