import type { DeploymentStatus } from '../contract.ts'

export const playground = {
  view: 'Mode',
  views: { chat: 'Chat', embeddings: 'Embeddings', rerank: 'Rerank' },

  noChat: 'Deploy a chat model',
  noChatMore: 'Chat with deployed models here, several side by side.',
  noModel: 'No deployed models',
  mayNotDeploy: 'Your role cannot deploy models. Ask an admin of your organization.',
  toCatalog: 'Choose a model',

  deployment: 'Deployment',
  nthDeployment: (n: number) => `Deployment ${n}`,
  ofOwner: (name: string, owner: string) => `${name} · shared by ${owner}`,
  deploymentName: (model: string, variant: string) => `${model} · ${variant}`,
  withStatus: (name: string, status: string) => `${name} (${status})`,
  gone: 'No longer available',
  addDeployment: 'Compare',
  removeDeployment: (name: string) => `Remove ${name}`,
  status: {
    requested: 'waiting',
    provisioning: 'starting',
    deploying: 'starting',
    running: 'running',
    failed: 'failed',
    sleeping: 'sleeping',
    terminating: 'terminating',
    terminated: 'terminated',
  } satisfies Record<DeploymentStatus, string>,

  newChat: 'New chat',
  viewCode: 'View code',
  parameters: 'Parameters',
  parametersHint: 'Leave a field empty for the engine’s default.',

  start: 'Start a conversation',
  beginMore: (many: boolean) =>
    many ? 'Each deployment receives the same messages.' : 'The conversation stays in this browser tab.',
  examples: [
    'Explain what a port number is, in three sentences.',
    'Write a Python function that merges two sorted lists.',
    'Compare TCP and UDP in a small table.',
  ],
  message: 'Message',
  messagePlaceholder: 'Write a message',
  composerHint: 'Enter sends, Shift + Enter adds a line',
  send: 'Send',
  stop: 'Stop',
  stopHint: 'Esc stops',
  toEnd: 'Scroll to the end',
  conversation: 'Conversation',
  answering: 'Answering',
  ended: {
    done: 'The answer is complete.',
    stopped: 'The answer was stopped.',
    failed: 'The answer failed.',
  },

  offline: 'The server is not responding. Your message is saved.',

  badParameters: 'Some parameters are invalid.',
  showParameters: 'Show parameters',

  exampleTexts: [
    'The ship reached the harbour at dawn.',
    'A vessel came into port in the early morning.',
    'The recipe asks for two eggs and some flour.',
  ],
}
