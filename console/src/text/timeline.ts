/** The steps of a deployment, and what to do after a failure. */
export const timeline = {
  timeline: 'Timeline',
  chosenInstance: (type: string) => `${type}. See “Why this instance”.`,
  upAfter: (span: string) => `Ready in ${span}`,
  took: (span: string) => `took ${span}`,
  lasted: (span: string) => `for ${span}`,
  earlierSteps: (count: number) => (count === 1 ? 'Show 1 earlier step' : `Show ${count} earlier steps`),
  earlierMessages: (count: number) => (count === 1 ? '1 earlier message' : `${count} earlier messages`),
  steps: {
    requested: 'Requested',
    running: 'Running',
    terminated: 'Terminated',
    changed: 'Settings changed',
    instance_selection: 'Instance chosen',
    waiting_for_instance: 'Waiting for an instance',
    provisioning: 'Instance ready',
    engine_startup: 'Starting the engine',
    model_download: 'Downloading the model',
    model_launch: 'Launching the model',
    health_check: 'Waiting for the health check',
    runtime: 'Engine',
    termination: 'Termination requested',
    cleanup: 'Cleaning up',
    scaling: 'Scaling',
    sleep: 'Falling asleep',
    asleep: 'Asleep',
    wake: 'Waking up',
    awake: 'Awake',
    again: 'Running again',
    refused: 'Could not wake up',
    given_back: 'Instance released',
    other: 'Progress',
  } as Record<string, string>,
  /** The sentence of the step with which a start, wake or sleep ends */
  ends: {
    start: 'The model is ready for requests.',
    restart: 'The model is ready for requests again.',
    wake: 'The model is ready for requests again.',
    sleep: 'The hardware is released, and nothing is billed.',
  },
  phases: {
    provisioning: 'Provisioning',
    download: 'Download',
    start: 'Engine start',
    drain: 'Last requests',
    release: 'Release',
  },
  failedAt: (stage: string) => `Failed: ${stage}`,
  stages: {
    instance_selection: 'selecting an instance',
    provisioning: 'provisioning an instance',
    engine_startup: 'starting the engine',
    model_download: 'downloading the model',
    model_launch: 'launching the model',
    health_check: 'waiting for the health check',
    runtime: 'while it was running',
    termination: 'releasing the instance',
  } as Record<string, string>,
  whatToDo: 'What to do',
  otherModel: 'Choose another model',
  /** Remedies by failure code */
  remedies: {
    no_feasible_instance:
      'No instance type has enough memory or the required hardware. Deploy a smaller size or quantization, or ask your administrator for larger instances.',
    in_use: 'Other programs use the memory of the GPU. End them, or deploy a smaller size or quantization.',
    no_capacity: 'All matching instances are in use. Terminate a deployment, or try again later.',
    quota_exceeded:
      'The cluster’s quota is used up. Terminate a deployment, or ask your administrator to raise the quota.',
    provider_error:
      'The compute backend rejected the request. Deploy again. If it fails again, send the message above to your administrator.',
    provision_timeout:
      'No instance became available in time. Deploy again, or choose a variant for a more common instance type.',
    engine_unreachable:
      'The engine was unreachable for too long. Deploy again. If it happens again, check the network between server and engines.',
    model_not_found:
      'The catalog points to weights that do not exist. Deploy another variant, and tell your administrator.',
    download_failed:
      'The weights could not be downloaded. Deploy again when the network is back; the download resumes.',
    disk_full:
      'The instance’s disk is full. Free some space or choose a smaller quantization, then deploy again.',
    out_of_memory:
      'The model needs more memory than the instance has. Deploy a smaller quantization or size.',
    launch_rejected:
      'The engine rejected this model. See the logs for the reason, or try another format or quantization.',
    readiness_timeout: 'The engine started but never became healthy. See the logs, or deploy again.',
    instance_lost: 'The instance was lost and could not be replaced. Deploy again.',
    engine_crashed:
      'The engine crashed several times in a row. See the logs, then deploy again or choose another variant.',
    cleanup_failed:
      'Cleanup is not complete. Berth retries until it succeeds; you don’t need to do anything.',
  } as Record<string, string>,
  unknownRemedy: 'Deploy again. If it fails again, see the logs.',
}
