import { randomInt } from 'node:crypto'
import getPort, { portNumbers } from 'get-port'

/**
 * Finds a free port of 127.0.0.1 for a program that other processes start.
 *
 * From 32768 on, Linux takes ports for outgoing connections, which would compete with a program that starts
 * or restarts.
 */
export function findFreePort(): Promise<number> {
  return getPort({ host: '127.0.0.1', port: portNumbers(randomInt(20_000, 31_000), 32_000) })
}
