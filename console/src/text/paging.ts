/** Texts below a list of several pages. */
export const paging = {
  pages: 'Pages',
  range: (first: string, last: string, total: string) => `${first} to ${last} of ${total}`,
  previous: 'Previous',
  next: 'Next',
}
