import { randomInt } from 'node:crypto'
import getPort, { portNumbers } from 'get-port'

/**
 * Finds a free port of 127.0.0.1 for a program that other processes start.
 *
 * The port lies below 32768, where Linux begins to take ports for outgoing connections. Otherwise such a connection
 * could take the port before the program listens, or while it restarts.
 */
export function findFreePort(): Promise<number> {
  return getPort({ host: '127.0.0.1', port: portNumbers(randomInt(20_000, 31_000), 32_000) })
}
