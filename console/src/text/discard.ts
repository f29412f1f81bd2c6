/** Texts of the question before a dialog gives up what a person entered. */
export const discard = {
  question: 'Discard your changes?',
  discard: 'Discard',
  keepEditing: 'Keep editing',
}
