/** What each loss does, in a sentence. */

export const LOSS_WORDS = {
  auto: "Log loss for two classes, cross-entropy for more.",
  logistic: "Log loss: every point pulls, the more the worse it is classified. With several classes, one against the rest.",
  softmax: "Cross-entropy: the probabilities of all classes are trained together.",
  hinge: "Only points inside the margin or on the wrong side pull (support vector machine).",
  squared_hinge: "Like the hinge, but points far on the wrong side pull harder.",
  crammer_singer: "Hinge for several classes: the right class against the best wrong one.",
  perceptron: "Only misclassified points pull; there is no margin.",
  squared: "Linear regression on the class: points far on the right side pull back.",
  sigmoid_mse: "Squared error of the probability: not convex, and flat where it is most wrong.",
  modified_huber: "Like the squared hinge, but robust: points far on the wrong side pull linearly.",
};
