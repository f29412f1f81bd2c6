import { browserStorage } from '../browser.ts'

/** How many commands a person's browser remembers */
const remembered = 6

const keyOf = (userId: number) => `berth:recent-commands:${userId}`

/** The ids of the commands that a person ran last in this browser, newest first. */
export function readRecent(userId: number): string[] {
  try {
    const ids: unknown = JSON.parse(browserStorage.read(keyOf(userId)) ?? '[]')
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string').slice(0, remembered) : []
  } catch {
    return []
  }
}

/** Remembers a command as the newest. A full or forbidden storage forgets it. */
export function rememberCommand(userId: number, id: string): void {
  const ids = [id, ...readRecent(userId).filter((known) => known !== id)].slice(0, remembered)
  browserStorage.write(keyOf(userId), JSON.stringify(ids))
}
