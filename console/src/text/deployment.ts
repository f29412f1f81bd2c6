/** A deployment's page; apart from the list, whose visitors don't load it. */
export const deployment = {
  back: 'Deployments',
  deployment: 'Deployment',
  notFoundTitle: 'No such deployment',
  notFound: 'It may belong to somebody else, or the address is mistyped.',
  tabs: 'Parts of this deployment',
  overview: 'Overview',
  metrics: 'Metrics',
  logs: 'Logs',
  callIt: 'Use it',
  deployAgain: 'Deploy again',
  modelGone: (model: string) => `The catalog no longer has ${model}.`,

  timeline: 'What happened',
  chosenInstance: (type: string) => `${type}, for the reasons below.`,
  upAfter: (span: string) => `Up ${span} after the request`,
  soFar: (span: string) => `${span} so far`,
  took: (span: string) => `took ${span}`,
  earlierMessages: (count: number) => (count === 1 ? '1 earlier message' : `${count} earlier messages`),
  steps: {
    requested: 'Requested',
    running: 'Running',
    terminated: 'Terminated',
    instance_selection: 'Instance chosen',
    waiting_for_instance: 'Waiting for an instance',
    provisioning: 'Instance ready',
    engine_startup: 'Starting the engine',
    model_download: 'Downloading the model',
    model_launch: 'Launching the model',
    health_check: 'Waiting for the first answer',
    runtime: 'Engine',
    termination: 'Termination requested',
    cleanup: 'Cleaning up',
    given_back: 'Instance given back',
    other: 'Progress',
  } as Record<string, string>,

  failedAt: (stage: string) => `Failed: ${stage}`,
  stages: {
    instance_selection: 'choosing an instance',
    provisioning: 'getting an instance',
    engine_startup: 'starting the engine',
    model_download: 'downloading the model',
    model_launch: 'launching the model',
    health_check: 'waiting for the first answer',
    runtime: 'while it was running',
    termination: 'giving everything back',
  } as Record<string, string>,
  whatToDo: 'What to do',
  seeLogs: 'See the logs',
  otherModel: 'Choose another model',
  /** What to do about a failure, by its code */
  remedies: {
    no_feasible_instance:
      'No instance type has the memory or the hardware that this variant needs. Deploy a smaller size or a smaller quantization, or ask whoever runs this server for larger instances.',
    no_capacity:
      'Every instance that fits is taken now. Terminate a deployment that you don’t need, or deploy again later.',
    quota_exceeded:
      'The cluster’s quota is used up. Terminate something that you don’t need, or ask whoever runs the cluster to raise the quota.',
    provider_error:
      'The compute provider refused. Deploying again may help; if it fails the same way, the sentence above is for whoever runs this server.',
    provision_timeout:
      'No instance came in time. Deploy again, perhaps with a variant that runs on a more common instance type.',
    engine_unreachable:
      'The engine could not be reached for a long time. Deploy again; if it recurs, the network between server and engines needs a look.',
    model_not_found:
      'The weights of this variant are not where the catalog says. Deploy another variant, and tell whoever keeps the catalog.',
    download_failed:
      'The weights could not be downloaded. What was received is kept: deploy again to go on, once the network is back.',
    disk_full:
      'The instance’s disk has no room for the weights. Free some space or choose a smaller quantization, then deploy again.',
    out_of_memory:
      'The model needed more memory than the instance has. Deploy a smaller quantization or size.',
    launch_rejected:
      'The engine did not accept this model. Its logs say why; another format or quantization may work.',
    readiness_timeout:
      'The engine started but never answered. Its logs may say why; deploying again may help.',
    instance_lost: 'The instance went away and could not be had back. Deploy again for a new one.',
    engine_crashed:
      'The engine ended several times in a row. Look at its logs, then deploy again or choose another variant.',
    cleanup_failed:
      'Not everything could be given back yet. This is tried again by itself until it works; there is nothing to do.',
  } as Record<string, string>,
  unknownRemedy: 'Deploy again. If it fails the same way, the logs may say more.',

  whyInstance: 'Why this instance',
  details: 'Details',
  costSoFar: 'Cost so far',
  instanceTime: 'Instance time',
  instanceType: 'Instance type',
  callName: 'Name to call',
  deploymentId: 'Deployment ID',
  instanceId: 'Instance ID',
  clusterId: 'Cluster',
  allocationId: 'GPU allocation',
  requestedAt: 'Requested',
  terminatedAt: 'Terminated',

  window: 'How far back',
  windows: { '15m': '15 min', '1h': '1 hour', '24h': '24 hours' },
  requests: 'Requests',
  errors: 'Errors',
  errorShare: (share: string) => `${share} of all`,
  inFlight: 'In flight',
  inputTokens: 'Input tokens',
  outputTokens: 'Output tokens',
  latency: 'Latency',
  latencyWords:
    'Half, 95 % and 99 % of the requests were at least this quick. What is not streamed has its first token at its end.',
  measure: 'Measure',
  timeToFirstByte: 'Time to first token',
  duration: 'Whole answer',
  p50: 'p50',
  p95: 'p95',
  p99: 'p99',
  noValue: '–',
  sinceStart: 'Since the start',
  overTime: 'Over time',
  chartRequests: 'Requests',
  chartRequestsLabel: (requests: string, errors: string) =>
    `Requests over time: ${requests} in all, ${errors} of them errors.`,
  chartDuration: 'Duration',
  chartDurationLabel: 'Duration of requests over time, median and 95th percentile.',
  chartTokens: 'Output tokens',
  chartTokensLabel: (tokens: string) => `Output tokens over time: ${tokens} in all.`,
  succeeded: 'Succeeded',
  asTable: 'The same as a table',
  time: 'Time',
  noRequests: 'No requests in this time.',

  logsLabel: 'Engine log',
  filterLines: 'Filter lines',
  follow: 'Follow',
  followHint: 'Keep the newest line in sight',
  pause: 'Pause',
  resume: 'Resume',
  newLines: (count: number) => (count === 1 ? '1 new line' : `${count} new lines`),
  wrap: 'Wrap',
  copyLog: 'Copy',
  copiedLog: 'The lines are copied.',
  /** How many there are, and the same as it is written. */
  lineCount: (count: number, written: string) => `${written} ${count === 1 ? 'line' : 'lines'}`,
  filteredOf: (shown: string, lineCount: string) => `${shown} of ${lineCount}`,
  noLines: 'No lines yet. The engine writes them from the moment it starts.',
  noLinesEnded: 'There are no lines: they went away with the instance, or the engine never started.',
  noMatch: 'No line holds this text.',
  reconnecting: 'The connection to the log was lost; it is being picked up again.',

  notRunningYet: 'It answers as soon as its status is “Running”.',
  noLongerAnswers: 'It no longer answers. Deploy it again to use these.',
  howToCall:
    'Any OpenAI client works. Requests carry your session’s cookie: there are no API keys, so sign in first, as the code does, and keep the cookie.',
  language: 'Language',
  languages: { curl: 'curl', python: 'Python', javascript: 'JavaScript' },
  target: 'Which deployments answer',
  targetThis: 'This deployment',
  targetModel: (model: string) => `All of ${model}`,
  targetModelWords: 'Requests are shared among your running deployments of this model.',
  targetThisWords: 'Only this deployment answers.',
  baseUrl: 'Base URL',
  modelName: 'Model',
  installs: { python: 'pip install openai', javascript: 'npm install openai' },
  installFirst: (command: string) =>
    `Install the client with “${command}” and put your password into the environment as BERTH_PASSWORD.`,
  curlFirst:
    'Put your password into the environment as BERTH_PASSWORD. cookies.txt lets anybody in: keep it to yourself.',
  code: (language: string) => `${language} code`,
}
