import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { ResponseBody, Input, PathTo } from '../../../console/src/operations.ts'
import { ConnectionError } from './client.ts'
import type { Client } from './client.ts'
import { Patience } from './patience.ts'

type StreamPath = PathTo<'GET', 'text/event-stream'>
type ItemOf<Path extends StreamPath> =
  ResponseBody<'GET', Path> extends { items: (infer Item)[] } ? Item : never

/** Reads the events of a response, which comments keep open. Throws ConnectionError if it breaks off. */
export async function* readEvents(
  response: Response,
  onComment?: (comment: string) => void,
): AsyncGenerator<{ event?: string | undefined; data: string }> {
  const events = response
    .body!.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ onComment }))
  try {
    yield* events
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    throw new ConnectionError('The connection to the server was lost.')
  }
}

/** Callbacks about the connection of a stream. */
interface Watcher {
  note: (text: string) => void
  /** Called before the stream begins again with the first items */
  onReconnect?: () => void
}

/** Yields the items of a list as they arrive, without end. */
export async function* follow<const Path extends StreamPath>(
  client: Client,
  path: Path,
  input: Input<'GET', Path> & { signal?: AbortSignal | undefined },
  { note, onReconnect }: Watcher,
): AsyncGenerator<ItemOf<Path>> {
  const patience = new Patience(note)
  for (;;) {
    try {
      for await (const { event, data } of readEvents(await client.openStream('GET', path, input))) {
        patience.reset()
        if (event !== undefined) yield JSON.parse(data) as ItemOf<Path>
      }
      throw new ConnectionError('The server ended the stream.')
    } catch (error) {
      await patience.wait(error)
      onReconnect?.()
    }
  }
}
