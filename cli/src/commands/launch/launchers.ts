import { describeOpencode } from '../connect/programs.ts'
import type { Connection } from '../connect/programs.ts'

/** How a program takes a connection by arguments and environment, so that its own settings stay as they are. */
export interface Launcher {
  command: string
  /** Agents need a long context and tools. */
  isAgent: boolean
  describe: (connection: Connection) => { args: string[]; env: Record<string, string> }
}

const codexProvider = 'model_providers.berth'

/** The programs that can be launched, by name. */
export const launchers: Readonly<Record<string, Launcher>> = {
  claude: {
    command: 'claude',
    isAgent: true,
    describe: ({ url, key, model }) => ({
      args: ['--model', model.id],
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: key,
        ANTHROPIC_API_KEY: '',
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model.id,
      },
    }),
  },
  codex: {
    command: 'codex',
    isAgent: true,
    describe: ({ url, key, model }) => {
      const settings = [
        'model_provider="berth"',
        `${codexProvider}.name="Berth"`,
        `${codexProvider}.base_url="${url}/v1"`,
        `${codexProvider}.env_key="BERTH_KEY"`,
        `${codexProvider}.wire_api="responses"`,
        ...(model.max_model_len === null ? [] : [`model_context_window=${model.max_model_len}`]),
      ]
      return {
        args: [...settings.flatMap((setting) => ['-c', setting]), '--model', model.id],
        env: { BERTH_KEY: key },
      }
    },
  },
  opencode: {
    command: 'opencode',
    isAgent: true,
    describe: (connection) => ({
      args: [],
      env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(describeOpencode(connection)) },
    }),
  },
  aider: {
    command: 'aider',
    isAgent: false,
    describe: ({ url, key, model }) => ({
      args: ['--model', `openai/${model.id}`],
      env: { OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: key },
    }),
  },
  'open-webui': {
    command: 'open-webui',
    isAgent: false,
    describe: ({ url, key }) => ({
      args: ['serve'],
      env: { OPENAI_API_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key },
    }),
  },
}
