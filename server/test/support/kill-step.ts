/** Every so many changes or queries, something is killed: at each in `test:apply` and `test:idempotency`. */
export const killStep = Number(process.env['KILL_STEP'] ?? 5)
