/** Images in the messages of the playground. */
export const images = {
  add: 'Add images',
  hint: 'Up to 4. You can also paste or drop them.',
  choose: 'Images',
  nth: (n: number) => `Image ${n}`,
  remove: (n: number) => `Remove image ${n}`,
  unreadable: 'The browser cannot read this file as an image.',
}
