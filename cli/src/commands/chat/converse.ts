import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import type { Client } from '../../api/client.ts'
import { ApiError } from '../../api/client.ts'
import type { Context } from '../../base/context.ts'
import { CommandError, exitCodes, messageOf } from '../../base/errors.ts'
import type { Output } from '../../base/output.ts'
import { answer } from './answer.ts'
import type { ChatSettings, Message } from './answer.ts'

const help = `/clear          forget the conversation
/model NAME     ask another model
/system TEXT    set the system prompt
/help           show these commands
/exit           leave, as Ctrl-D does
A backslash at the end of a line continues the message. Ctrl-C stops an answer.`

/** Converses until the person leaves. Ctrl-C stops an answer; without one it ends with 130. */
export async function converse({ output }: Context, client: Client, settings: ChatSettings): Promise<void> {
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    prompt: '> ',
    historySize: 1000,
  })
  const conversation = new Conversation(client, settings, output)
  let interrupted = false
  lines.on('SIGINT', () => {
    if (conversation.stop()) return
    interrupted = true
    lines.close()
  })
  output.note(`Conversation with ${settings.model}. /help shows the commands.`)
  lines.prompt()
  for await (const message of readMessages(lines)) {
    if (message === '/exit') break
    await conversation.take(message)
    lines.prompt()
  }
  lines.close()
  if (interrupted) throw new CommandError('', exitCodes.interrupted)
}

/** Joins the lines that end with a backslash. */
async function* readMessages(lines: Interface): AsyncGenerator<string> {
  let message = ''
  for await (const line of lines) {
    if (line.endsWith('\\')) message += `${line.slice(0, -1)}\n`
    else {
      yield (message + line).trim()
      message = ''
    }
  }
}

/** The messages so far, and the answer that is arriving. */
class Conversation {
  readonly #client: Client
  readonly #output: Output
  #settings: ChatSettings
  #messages: Message[] = []
  #answering: AbortController | null = null

  constructor(client: Client, settings: ChatSettings, output: Output) {
    this.#client = client
    this.#settings = settings
    this.#output = output
  }

  /** Stops the answer that is arriving. Returns whether there was one. */
  stop(): boolean {
    this.#answering?.abort()
    return this.#answering !== null
  }

  /** Answers a message, or obeys a command. */
  async take(message: string): Promise<void> {
    if (message === '') return
    if (message.startsWith('/')) return this.#obey(message)
    this.#messages.push({ role: 'user', content: message })
    this.#answering = new AbortController()
    try {
      const { signal } = this.#answering
      const content = await answer(this.#client, this.#settings, this.#messages, this.#output, signal)
      if (signal.aborted) this.#output.note('Stopped.')
      this.#messages.push({ role: 'assistant', content })
    } catch (error) {
      this.#messages.pop()
      if (error instanceof ApiError && error.exitCode === exitCodes.notSignedIn) throw error
      this.#output.note(messageOf(error))
    } finally {
      this.#answering = null
    }
  }

  #obey(command: string): void {
    const [name, ...words] = command.split(' ')
    const rest = words.join(' ').trim()
    if (name === '/clear') this.#messages = []
    else if (name === '/system') this.#settings = { ...this.#settings, system: rest }
    else if (name === '/model' && rest !== '') this.#settings = { ...this.#settings, model: rest }
    else this.#output.note(help)
  }
}
