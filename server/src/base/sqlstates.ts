const unavailable = /^(08...|25006|25P0[34]|53[0234]00|57P0[1-5]|58030)$/
const conflicts = /^(40001|40P01|55P03|57014)$/

/**
 * True for SQLSTATEs of a database that can't work now: connections, read-only transactions, ended sessions,
 * missing resources, shutdowns and failed disks. A full disk (53100) has its own error.
 */
export function isUnavailableState(code: string | undefined): boolean {
  return code !== undefined && unavailable.test(code)
}

/** True for SQLSTATEs of a transaction that lost to another or took too long: nothing of it was kept. */
export function isConflictState(code: string | undefined): boolean {
  return code !== undefined && conflicts.test(code)
}
