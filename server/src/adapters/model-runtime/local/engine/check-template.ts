import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ChatTemplates } from '../../../../ports/model-runtime.ts'
import type { EngineRights } from './containment.ts'

const program = fileURLToPath(new URL('../../../../../../engine/src/check-template.ts', import.meta.url))

/** What rendering the templates of a model may take. */
export interface TemplateLimits {
  milliseconds: number
  heapMebibytes: number
}

/** Far more than the largest templates of public models need, also on a busy machine */
const defaultLimits: TemplateLimits = { milliseconds: 30_000, heapMebibytes: 128 }
const exitTooLong = 1

/** Renders chat templates in its own process. Resolves to what they exceed, as a clause, or to null. */
export async function checkTemplate(
  { chatTemplate, toolTemplate }: Omit<ChatTemplates, 'format'>,
  { account, prefix }: Pick<EngineRights, 'account' | 'prefix'>,
  { milliseconds, heapMebibytes }: TemplateLimits = defaultLimits,
): Promise<string | null> {
  const [command, ...args] = [...prefix, process.execPath, `--max-old-space-size=${heapMebibytes}`, program]
  const child = spawn(command, args, {
    ...(prefix.length === 0 ? account : null),
    cwd: '/',
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
    timeout: milliseconds,
    killSignal: 'SIGKILL',
  })
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify({ chat_template: chatTemplate, 'chat_template.tool_use': toolTemplate }))
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  if (code === 0) return null
  if (signal === 'SIGKILL') return "Rendering the model's chat template takes too long"
  return code === exitTooLong
    ? "The model's chat template renders a short message to more than 100,000 characters"
    : "Rendering the model's chat template takes too much memory"
}
