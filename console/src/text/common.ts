export const common = {
  product: 'Berth',
  cancel: 'Cancel',
  close: 'Close',
  copied: 'Copied',
  copy: (what: string) => `Copy ${what}`,
  loading: 'Loading',
  notCopied: 'Your browser blocked copying. Select the text and copy it manually.',
  notification: 'Notification',
  save: 'Save',
  saved: 'Saved.',
  tryAgain: 'Try again',
}
