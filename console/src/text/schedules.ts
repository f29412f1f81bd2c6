/** Texts of a deployment's schedules, in the policy dialog. */
export const schedules = {
  title: 'Keep awake',
  hint: 'In these hours the deployment does not sleep. Otherwise it sleeps when idle.',
  addHours: 'Add hours',
  addTime: 'Add cron pattern',
  remove: (rule: string) => `Remove: ${rule}`,
  incomplete: 'New schedule',
  days: 'Days',
  from: 'From',
  until: 'Until',
  instances: 'Keep awake',
  pattern: 'Cron pattern',
  timeZone: 'Time zone',
  noDay: 'Choose a day.',
  noTime: 'Enter both times.',
  sameTime: 'Choose another end.',
  badPattern:
    'Enter five fields (minute, hour, day of the month, month, day of the week) with a time that exists.',
  instancesRange: (least: number, most: number) =>
    least === most
      ? `Keep ${least} awake.`
      : `Keep ${least} to ${most} awake: there are at most ${most} instances.`,
  next: (zone: string) => `Next times, in your time zone (${zone})`,
  change: (instances: number) => (instances === 0 ? 'May sleep' : `Keep ${instances} awake`),
}
