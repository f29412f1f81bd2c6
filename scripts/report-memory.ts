// Preloaded into a measured server, whose parent asks for its memory: what is left after two collections of
// garbage.
import { setTimeout as delay } from 'node:timers/promises'

process.on('message', (message) => {
  if (message === 'memory') void report()
})
// The channel keeps no server alive.
process.channel?.unref()

async function report(): Promise<void> {
  // Sockets and streams end in a turn of the event loop after the first collection.
  globalThis.gc!()
  await delay(300)
  globalThis.gc!()
  process.send!({ memory: process.memoryUsage() })
}
