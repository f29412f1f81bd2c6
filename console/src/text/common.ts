export const common = {
  product: 'Berth',
  cancel: 'Cancel',
  close: 'Close',
  copied: 'Copied',
  copy: (what: string) => `Copy ${what}`,
  loading: 'Loading',
  notification: 'Notification',
  save: 'Save',
  saved: 'Saved.',
  tryAgain: 'Try again',
}
