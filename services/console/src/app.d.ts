interface JSON {
  /** Not in all browsers: text of a number that JSON.stringify() writes unchanged. */
  rawJSON?(text: string): { readonly rawJSON: string };
}
