import type { Client } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { usageError } from '../base/errors.ts'
import { readPipe } from '../base/pipe.ts'
import { answer, toRequest } from './chat/answer.ts'
import type { ChatSettings } from './chat/answer.ts'
import { explainType } from './model-type.ts'

/** Sends one prompt, from the command line or a pipe, or converses on a terminal. */
export async function chat(
  context: Context,
  model: string,
  prompt: string | undefined,
  options: Omit<ChatSettings, 'model'>,
): Promise<void> {
  const client = await connectClient(context.env)
  const settings = { ...options, model }
  const content = [prompt, await readPipe((text) => context.output.note(text))]
    .filter((part) => part !== undefined && part !== '')
    .join('\n\n')
  if (content !== '') return answerOnce(context, client, settings, content)
  if (context.output.json || !process.stdin.isTTY || !process.stdout.isTTY) {
    throw usageError('There is no prompt. Pass one, pipe a text, or use a terminal.')
  }
  const { converse } = await import('./chat/converse.ts')
  await converse(context, client, settings)
}

async function answerOnce(
  { output }: Context,
  client: Client,
  settings: ChatSettings,
  content: string,
): Promise<void> {
  const messages = [{ role: 'user', content }]
  if (!output.json) return void (await answer(client, settings, messages, output))
  const body = toRequest(settings, messages)
  const completion = await client
    .call('POST', '/v1/chat/completions', { body })
    .catch((error: unknown) => explainType(client, settings.model, 'chat', error))
  output.result(completion, () => {})
}
