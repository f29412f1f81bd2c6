export const common = {
  product: 'Berth',
  cancel: 'Cancel',
  close: 'Close',
  copied: 'Copied',
  copy: (what: string) => `Copy ${what}`,
  loading: 'Loading',
  notCopied: 'The browser does not let this page copy. Select the text, and copy it by hand.',
  notification: 'Notification',
  save: 'Save',
  saved: 'Saved.',
  tryAgain: 'Try again',
}
