/** Every so many changes of `berth apply`, something is killed: each one in `npm run test:apply`. */
export const killStep = Number(process.env['APPLY_KILL_STEP'] ?? 5)
