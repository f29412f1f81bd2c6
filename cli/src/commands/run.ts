import type { Context } from '../base/context.ts'
import { runProgram } from '../base/run-program.ts'
import { createKey, openConnection } from './connect.ts'

/** Runs a program whose OpenAI and Anthropic clients use a separate connection. */
export async function run(context: Context, command: [string, ...string[]]): Promise<void> {
  const key = createKey()
  const proxy = await openConnection(context, key)
  try {
    process.exitCode = await runProgram(command, {
      ...withoutSession(context.env),
      OPENAI_BASE_URL: `${proxy.url}/v1`,
      OPENAI_API_KEY: key,
      ANTHROPIC_BASE_URL: proxy.url,
      ANTHROPIC_AUTH_TOKEN: key,
    })
  } finally {
    proxy.close()
  }
}

/** The connection replaces the session, which the program must not see. */
export function withoutSession(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { BERTH_SESSION: _, ...rest } = env
  return rest
}
