/** Texts of the tabs and dialogs of a deployment's page. */
export const deploymentParts = {
  sharing: {
    title: (model: string, organization: string) => `Share ${model} with ${organization}?`,
    consequences: (callers: string, organization: string, cacheScope: 'member' | 'organization') => [
      `${callers} may call the model, viewers included.`,
      `${organization} pays for it, as before. Usage counts for the member who sends the request.`,
      'Nobody sees the prompts and answers of others. Only you and admins change it or read its log.',
      cacheScope === 'member'
        ? 'They share no cached prompts, so response times tell nothing about the prompts of others.'
        : 'They share cached prompts: a fast answer may tell a member that a colleague sent the same beginning. “Separate prompt caches” in Scaling and sleep prevents it.',
    ],
    stopTitle: (model: string) => `Stop sharing ${model}?`,
    stopWords:
      'Only the owner may call it then. Requests of other members end within a second, streams included.',
    started: (organization: string) => `Shared with ${organization}.`,
    stopped: 'No longer shared.',
  },
  soFar: (span: string) => `${span} so far`,
  seeLogs: 'See logs',

  contextTokens: 'Context',
  parallelRequests: 'Requests at the same time',
  tokens: (count: string) => `${count} tokens`,
  atLeast: (count: string) => `Minimum: ${count}`,
  setMinimums: 'Change context',
  minimumsNote: 'The deployment moves to an instance that can serve at least this.',
  minimumsWhenRunning:
    'The model keeps serving until a larger instance takes over. Without room for both, it moves when its engine starts next.',
  emptyForNone: 'Leave empty for no minimum.',
  wholeNumber: 'Enter a whole number greater than 0.',
  whyInstance: 'Why this instance',
  managedWarning: (names: readonly string[]) =>
    `The next “berth apply” of ${names.join(' or ')} overwrites changes.`,
  managedEndWarning: (names: readonly string[]) =>
    `The next “berth apply” of ${names.join(' or ')} deploys what its file still has.`,
  owner: 'Owner',
  sharedWith: 'Shared with',

  details: 'Details',
  costSoFar: 'Cost so far',
  instanceTime: 'Instance time',
  asleepTime: 'Asleep',
  savedBySleep: 'Saved by sleep',
  instanceType: 'Instance type',
  engine: 'Engine',
  /** By the name in the API. The console shows other engines by that name. */
  engineNames: {
    vllm: 'vLLM',
    'llama.cpp': 'llama.cpp',
    embedded: 'Embedded (llama.cpp)',
  } as Readonly<Record<string, string>>,
  /** What releases of an engine have before the version */
  engineVersionPrefixes: { 'llama.cpp': 'b' } as Readonly<Record<string, string>>,
  callName: 'Model ID',
  alias: 'Alias',
  deploymentId: 'Deployment ID',
  instanceId: 'Instance ID',
  clusterId: 'Cluster',
  allocationId: 'Allocation',

  terminatedTitle: (when: string) => `Terminated ${when}`,
  terminatedWords:
    'The instance is released, and nothing more is charged. The last lines of the log stay for 30 days.',
  paidBy: 'Paid by',
  requestedAt: 'Requested',
  terminatedAt: 'Terminated',

  lastHour: 'Last hour',
  firstTokenSlow: 'First token, p95',
  tokensPerSecond: 'Tokens per second',
  waitingNow: 'Waiting',
  head: {
    readyFor: (span: string) => `ready for ${span}`,
    saved: (amount: string) => `saved ${amount} by sleep`,
  },
  requests: 'Requests',
  errors: 'Errors',
  inputTokens: 'Input tokens',
  outputTokens: 'Output tokens',
  noValue: '–',

  notRunningYet: 'The deployment accepts requests when its status is Running.',
  noLongerAnswers: 'This deployment no longer accepts requests. Deploy again to use these samples.',
  howToCall:
    'Any OpenAI client works. Berth has no API keys: the samples send the session in the environment variable BERTH_COOKIE.',
  language: 'Language',
  languages: {
    curl: 'curl',
    python: 'Python',
    javascript: 'JavaScript',
    anthropic: 'Anthropic',
    berth: 'berth',
    env: '.env',
  },
  target: 'Target',
  targetThis: 'This deployment',
  targetModel: 'All of this model',
  targetModelWords:
    'Requests go to the least busy of your running deployments of this model, or of those shared with you if you have none.',
  targetThisWords: 'Requests go to this deployment only.',
  targetAliasWords:
    'Requests go to this deployment by its alias. If you give the alias to another one, these samples keep working.',
  baseUrl: 'Base URL',
  modelName: 'Model',
  installs: {
    python: 'pip install openai',
    javascript: 'npm install openai',
    anthropic: 'pip install anthropic',
  } as Readonly<Record<string, string>>,
  installFirst: (command: string) => `Install the client with “${command}”.`,
  code: (language: string) => `${language} code`,
}
