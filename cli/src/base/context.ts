import type { Output } from './output.ts'

/** What each command gets. */
export interface Context {
  env: NodeJS.ProcessEnv
  output: Output
}

/** Options of every command. */
export interface GlobalOptions {
  json?: boolean
  debug?: boolean
}
