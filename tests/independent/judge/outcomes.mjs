// What the law ends with: a finding, a question that is still to be asked, something that the law leaves open, or something that this judge cannot compute.
export class Found {
  constructor(finding, unproven = []) {
    Object.assign(this, { finding, unproven });
  }
}
export class Missing {
  constructor(kind, tree) {
    Object.assign(this, { kind, tree });
  }
}
export class Unchecked {
  constructor(why) {
    this.why = why;
  }
}
export class Open {
  constructor(why) {
    this.why = why;
  }
}
