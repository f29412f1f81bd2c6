import { watch } from 'node:fs'
import { basename } from 'node:path'
import { readEngineRecord } from './engine-record.ts'

/** Calls `onStarted` once when this launch is ready or has failed; never if files send no notifications. */
export function watchStart(
  directory: string,
  nonce: string,
  onStarted: (engineId: string) => void,
): { stop(): void } {
  let isOver = false
  const stop = () => {
    isOver = true
    watcher.close()
  }
  const look = async () => {
    const record = await readEngineRecord(directory, nonce)
    if (isOver || record === null || record.phase === 'loading') return
    stop()
    onStarted(basename(directory))
  }
  const watcher = watch(directory, { persistent: false })
  watcher.on('change', () => void look().catch(stop))
  watcher.on('error', stop)
  return { stop }
}
