/** Texts of a deployment's instances and its sleep, on its page and in the deploy dialog. */
export const instances = {
  title: 'Instances',
  none: 'None now: nothing is billed.',
  choosing: 'Choosing the hardware',
  statuses: {
    starting: 'Starting',
    running: 'Running',
    draining: 'Finishing requests',
    releasing: 'Releasing',
  },
  /** `count` selects the plural, `written` is the formatted count */
  inFlight: (count: number, written: string) => (count === 0 ? 'Idle' : `${written} in flight`),

  sleepingTitle: 'This deployment is sleeping',
  sleeping: 'It costs nothing. The next request wakes it and waits until the model is ready.',
  asleepSince: (when: string) => `Asleep since ${when}.`,
  sleepCauses: {
    person: (name: string | null) => `${name ?? 'A former member'} put it to sleep.`,
    /** `count` selects the plural, `written` is the formatted count */
    idle: (count: number, written: string) =>
      `It had no requests for ${written} ${count === 1 ? 'minute' : 'minutes'}.`,
    budget: 'A budget is exhausted.',
    yield: 'Another deployment needed its hardware.',
  },
  lastStart: (span: string) => `The last start took ${span}.`,
  refused: (reason: string) => `It could not wake up: ${reason}`,
  fallingAsleep: 'Requests in flight have 30 seconds to finish. A new request keeps the deployment awake.',

  awake: (count: number, written: string) =>
    `${written} ${count === 1 ? 'instance' : 'instances'} while awake.`,
  awakeByLoad: (least: string, most: string) => `${least} to ${most} instances while awake, by the load.`,
  sleepsAfter: (count: number, written: string) =>
    `Sleeps after ${written} ${count === 1 ? 'minute' : 'minutes'} without requests.`,
  neverSleeps: 'Never sleeps by itself.',

  whoseLines: 'Instance',
  allInstances: 'All instances',
  nthInstance: (nth: number, status: string) => `Instance ${nth} (${status.toLowerCase()})`,
  released: 'Released',

  offer: (minutes: string) => `Sleep after ${minutes} minutes without requests`,
  saves: (price: string) => `Saves ${price} for each idle hour.`,
  wakes: 'The next request wakes the model and waits until it is ready.',

  ofEndpoint: 'The endpoint serves the model. It neither sleeps nor scales, and costs what its tokens cost.',
  edit: 'Edit scaling and sleep',
  scaling: 'Scaling and sleep',
  policyTitle: (model: string) => `Scaling and sleep of ${model}`,
  policyNote: 'While it sleeps, a deployment has no hardware and costs nothing.',
  idleMinutes: 'Sleep after (minutes without requests)',
  idleMinutesHint: 'Up to 10,080, a week. Leave empty to keep it awake.',
  idleMinutesRange: 'Enter a whole number from 1 to 10,080.',
  minInstances: 'At least',
  maxInstances: 'At most',
  instancesHint: 'Instances. More than the first number start under load, and are billed while they run.',
  upTo: (price: string) => `Up to ${price}`,
  instancesRange: 'Enter a whole number from 1 to 100.',
  mostTooFew: 'At most must not be less than at least.',
  targetConcurrency: 'Requests per instance',
  targetConcurrencyHint:
    'More requests in flight start another instance. Leave empty for 80% of what the engine processes at the same time.',
  targetConcurrencyRange: 'Enter a whole number from 1 to 4,096.',
  yields: 'Yield the hardware when idle',
  yieldsHint:
    'If another deployment finds no hardware, this one may fall asleep early: never during a request, nor within 10 seconds after one.',
  yieldsHardware: 'May fall asleep early when another deployment needs its hardware.',
  separateCaches: 'Separate prompt caches',
  separateCachesHint:
    'Otherwise the time to the first token may tell members that a colleague sent the same beginning. It makes shared instructions slower.',
  hasSeparateCaches: 'Members share no cached prompts.',
  alias: 'Name (optional)',
  newAliasHint: 'A name of your own, such as “assistant”. Pages show it, and requests use it as “model”.',
  aliasHint: 'Pages show it, and requests use it as “model”. Without a name, that is the model’s.',
  aliasOrder: 'Order (optional)',
  aliasOrderHint:
    'If several of your deployments have this name, requests go to the lowest order that can serve: 1, then 2.',
  aliasOrderRange: 'Enter a whole number from 1 to 1,000.',
  sharesAlias: (places: readonly string[]) => `Requests by this name go to ${places.join(', then ')}.`,
  spreadsAlias: (deployments: readonly string[]) =>
    `Requests by this name go to the least busy of ${deployments.join(', ')}.`,
  placeOfAlias: (name: string, order: number | null, isThis: boolean) =>
    `${name} (${[isThis ? 'this one' : null, order === null ? 'no order' : `order ${order}`].filter((each) => each !== null).join(', ')})`,
  shadows: (deployments: readonly string[]) =>
    `Requests by this name would not reach ${deployments.join(', ')} anymore.`,
  aliasRange: 'Use up to 128 letters without accents, digits, or . _ : / -',
}
